"""Behaviours: what planning and managed history promise, each with the tests that hold it.

The numbers are those of the list of behaviours that the specification was written from. A promise
whose test is renamed or removed fails here.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]

REQUESTS = "unit/test_requests.py"
HOOKS = "unit/test_step_hooks.py"
MANAGED = "unit/test_managed_history.py"
POLICIES = "unit/test_history_policies.py"
FLIGHT = "unit/test_summaries_in_flight.py"
STRATEGIES = "unit/test_summary_strategies.py"
PARTS = "unit/test_contributors.py"
TABLE = "unit/test_on_miss_table.py"
BUDGET = "unit/test_budget.py"
UNITS = "unit/test_units_and_repair.py"
THREADS = "scenarios/test_planned_threads.py"
LAWS = "properties/test_planning_laws.py"
RECENT = "properties/test_recent_laws.py"
SUPPORT = "properties/test_support_law.py"
CASES = "cases/test_planned_cases.py"
RECENT_CASES = "cases/test_recent_cases.py"
LEASES = "durability/test_summary_leases.py"
SEED = "scenarios/test_seed_001.py"
GENERATED = "scenarios/test_generated_history.py"
ENCODINGS = "unit/test_group_encodings.py"
RESTING = "unit/test_setbacks.py"
SELECTION = "properties/test_selection_laws.py"
PREFIX = "unit/test_prefix_between_requests.py"
FALLBACK = "unit/test_capacity.py"

BEHAVIOURS: dict[str, tuple[str, ...]] = {
    "1 options are copied": (
        f"{POLICIES}::test_options_given_as_a_mapping_are_copied",
        f"{MANAGED}::test_changing_the_passed_options_later_changes_nothing",
    ),
    "2 defaults": (f"{POLICIES}::test_managed_history_has_the_documented_defaults",),
    "3 strategies come from the factory": (
        f"{POLICIES}::test_strategies_are_versioned_values_that_survive_pickling",
        f"{MANAGED}::test_a_value_outside_its_range_is_refused_at_construction",
        f"{SEED}::test_a_strategy_has_a_tag_a_kind_and_a_version",
        f"{SEED}::test_a_strategy_that_summarize_did_not_make_is_a_type_error",
    ),
    "4 each invalid option": (
        f"{POLICIES}::test_a_cap_is_a_whole_number_from_one_to_the_largest_that_json_carries",
        f"{POLICIES}::test_wrong_options_cannot_be_constructed",
        f"{MANAGED}::test_a_value_outside_its_range_is_refused_at_construction",
        f"{SEED}::test_a_limit_that_is_no_positive_safe_whole_number_is_a_type_error",
        f"{SEED}::test_an_empty_options_object_is_invalid",
        f"{SEED}::test_a_strategy_cannot_be_built_beside_its_constructors",
    ),
    "5 recent needs neither model nor store": (
        f"{MANAGED}::test_recent_history_makes_no_model_call_and_uses_no_store",
        f"{GENERATED}::test_the_newest_of_forty_messages_are_sent_in_exactly_one_call",
    ),
    "6 both loop styles": (
        f"{MANAGED}::test_both_colours_plan_the_same_bytes",
        f"{GENERATED}::test_every_style_of_loop_sends_the_same_bytes",
    ),
    "7 an oversized newest group": (
        f"{RECENT_CASES}::test_a_lone_oversized_turn_keeps_its_question_and_says_so_without_its_text",
        f"{SEED}::test_a_newest_group_above_a_cap_is_kept_whole_with_a_warning_free_of_content",
    ),
    "8 both caps": (
        f"{RECENT}::test_both_caps_hold_or_a_warning_says_why_not",
        f"{SEED}::test_both_caps_hold_where_groups_allow_it",
    ),
    "9 system prefix": (
        f"{RECENT}::test_the_system_run_is_kept_whatever_the_caps",
        f"{ENCODINGS}::test_a_later_system_message_stays_in_place_with_its_turn",
    ),
    "10 a transcript of the prompt": (
        f"{GENERATED}::test_a_transcript_of_the_prompt_is_projected_where_the_call_has_none",
        f"{SEED}::test_messages_of_the_prompt_come_second",
    ),
    "11 orphan results": (
        f"{RECENT}::test_strict_refuses_exactly_when_a_defect_would_be_in_the_view",
        f"{CASES}::test_a_dangling_call_is_refused_before_any_model_is_called",
        f"{GENERATED}::test_an_orphan_result_is_refused_before_the_call",
    ),
    "12 two projections": (
        f"{PARTS}::test_two_policies_are_refused_before_anything_is_called",
        f"{SEED}::test_two_projections_are_an_invalid_composition",
    ),
    "13 no source": (
        f"{PARTS}::test_a_policy_without_a_source_says_so",
        f"{SEED}::test_a_projection_without_a_source_says_so_and_what_to_do",
    ),
    "14 one seam, turn outside caps": (
        f"{MANAGED}::test_callers_messages_and_a_thread_go_through_the_same_seam_with_the_turn_outside_caps",
        f"{GENERATED}::test_the_current_words_are_outside_the_cap_of_a_thread",
    ),
    "15 recent laws": (
        f"{RECENT}::test_the_view_is_what_a_literal_reading_of_the_rules_gives",
        f"{RECENT}::test_a_larger_cap_never_shows_less",
        f"{RECENT}::test_projecting_a_view_again_changes_nothing",
        f"{RECENT}::test_the_same_objects_come_back_in_order_and_the_input_is_untouched",
        f"{RECENT}::test_no_result_is_without_its_call_and_no_call_without_its_results",
    ),
    "16 pairing": (
        f"{UNITS}::test_a_result_answers_the_latest_open_call_of_its_id",
        f"{UNITS}::test_using_an_id_again_closes_the_older_call_as_unanswered",
        f"{UNITS}::test_without_ids_results_pair_by_name_with_the_latest_message_in_order",
        f"{ENCODINGS}::test_parallel_calls_and_their_results_are_one_group_in_any_order",
        f"{ENCODINGS}::test_calls_without_ids_are_groups_too",
        f"{ENCODINGS}::test_an_id_used_again_in_a_later_round_belongs_to_that_round",
    ),
    "17 near the limit": (
        f"{REQUESTS}::test_exact_history_warns_near_the_limit_and_points_at_policies_above_it",
        f"{SEED}::test_near_the_watermark_a_warning_names_the_policies",
        f"{GENERATED}::test_a_warning_is_on_each_receipt_and_in_the_log_once_for_a_model",
    ),
    "18 overflow without content": (
        f"{REQUESTS}::test_exact_history_warns_near_the_limit_and_points_at_policies_above_it",
    ),
    "19 summary and exact suffix, record untouched": (
        f"{CASES}::test_a_managed_case_gives_its_exact_and_summarised_messages",
        f"{LAWS}::test_a_plan_fits_explains_every_message_and_leaves_the_record_alone",
    ),
    "20 support calls are linked": (
        f"{REQUESTS}::test_inspection_names_every_candidate_and_why_it_was_rejected",
        f"{SEED}::test_every_support_call_is_linked_from_the_inspection",
        f"{SEED}::test_the_request_that_it_names_is_linked",
    ),
    "21 what happens on a miss": (f"{TABLE}::test_a_cell",),
    "22 the provider's own path": (
        f"{REQUESTS}::test_a_providers_own_path_is_used_unless_the_author_forbids_it",
        f"{SEED}::test_it_is_given_the_exact_prefix_the_model_the_strategy_and_the_permission",
    ),
    "23 calls of each strategy": (
        f"{STRATEGIES}::test_nine_pairs_are_two_chunks_of_at_most_eight_turns",
    ),
    "24 nothing is read below the watermark": (
        f"{FLIGHT}::test_nothing_is_read_or_written_below_the_watermark",
    ),
    "25 chunk boundaries": (
        f"{STRATEGIES}::test_chunks_end_at_eight_turns_or_before_four_thousand_tokens",
        f"{STRATEGIES}::test_a_turn_larger_than_a_chunk_is_one_of_its_own",
    ),
    "26 a failing generator": (
        f"{STRATEGIES}::test_a_refused_answer_is_asked_for_again_within_the_attempts",
        f"{FLIGHT}::test_a_failure_is_told_to_all_who_wait_and_joined_by_nobody_after",
        f"{LAWS}::test_a_failing_summariser_ends_in_a_typed_error_or_an_authorised_form",
        f"{RESTING}::test_a_model_that_failed_is_left_alone_while_something_else_fits",
        f"{RESTING}::test_a_model_that_fails_again_rests_longer_up_to_a_limit",
    ),
    "27 empty and oversized summaries": (
        f"{STRATEGIES}::test_a_refused_answer_is_asked_for_again_within_the_attempts",
        f"{CASES}::test_a_summary_hardly_smaller_than_its_source_is_neither_kept_nor_used",
    ),
    "28 a stale summary that no longer fits": (
        f"{MANAGED}::test_a_stale_summary_that_no_longer_fits_is_continued_instead_of_failing",
    ),
    "29 recent-only keeps full while it fits": (f"{TABLE}::test_a_cell",),
    "30 preparation for every miss": (f"{TABLE}::test_a_cell",),
    "31 identity by content": (
        f"{MANAGED}::test_everything_that_changes_the_text_is_part_of_a_summarys_identity",
        f"{MANAGED}::test_summaries_are_known_by_what_they_cover_and_not_by_the_system_text_before_it",
    ),
    "32 an older prefix is used at a later revision": (
        f"{THREADS}::test_requests_share_their_head_with_the_one_before",
    ),
    "33 range behind system messages": (
        f"{THREADS}::test_the_leading_system_message_is_kept_outside_the_summary",
    ),
    "34 requests at once": (
        f"{FLIGHT}::test_requests_at_once_share_one_support_call_and_one_record",
    ),
    "35 no source text is stored": (
        f"{MANAGED}::test_a_stored_summary_holds_no_text_of_the_transcript_nor_of_the_instructions",
    ),
    "36 maintenance after the response": (
        f"{MANAGED}::test_a_stale_summary_serves_while_its_replacement_is_made_after_the_response",
    ),
    "37 stale while the replacement is made": (
        f"{MANAGED}::test_a_stale_summary_serves_while_its_replacement_is_made_after_the_response",
    ),
    "38 life of summaries": (
        f"{FLIGHT}::test_a_summary_ends_with_its_time_to_live",
        f"{FLIGHT}::test_superseded_summaries_are_collected_beyond_the_last_two",
        f"{FLIGHT}::test_a_store_that_fails_at_any_call_gives_a_typed_error_and_poisons_nothing",
        f"{MANAGED}::test_a_damaged_summary_is_told_and_made_anew",
    ),
    "39 edits, branches and redaction": (
        f"{THREADS}::test_redacting_a_covered_message_erases_its_summaries_at_once",
        f"{THREADS}::test_another_branch_does_not_find_the_summary_of_this_one",
    ),
    "40 leases across processes": (
        f"{LEASES}::test_two_processes_make_one_summary_with_one_call",
        f"{LEASES}::test_the_holder_of_the_lease_is_killed_in_mid_summary",
    ),
    "41 derived budgets": (
        f"{BUDGET}::test_the_window_is_shared_between_input_answer_and_overhead",
        f"{BUDGET}::test_merging_goes_field_by_field_and_the_invocation_wins",
        f"{BUDGET}::test_an_unknown_model_gets_a_small_window_and_a_warning",
        f"{BUDGET}::test_the_capacitys_own_reserve_is_the_default",
        f"{FALLBACK}::test_an_unknown_model_gets_a_small_window_and_says_so",
    ),
    "42 oversized requests name their largest parts": (
        f"{PARTS}::test_a_required_contributor_that_does_not_fit_is_named_with_the_largest_parts",
        f"{GENERATED}::test_what_does_not_fit_exactly_calls_nobody_and_names_its_largest_parts",
    ),
    "43 linked receipts, one plan for retries": (
        f"{REQUESTS}::test_fidelity_does_not_go_up_again_within_an_execution",
        f"{REQUESTS}::test_a_transport_retry_is_recorded_and_not_planned_anew",
        f"{GENERATED}::test_each_tool_round_has_a_receipt_linked_to_the_one_before",
        f"{GENERATED}::test_a_request_that_was_sent_again_is_one_plan",
    ),
    "44 two tiers": (
        f"{PARTS}::test_a_smaller_form_is_taken_only_where_a_larger_one_does_not_fit",
        f"{PARTS}::test_priority_decides_whose_fidelity_is_kept",
        f"{SELECTION}::test_the_highest_fidelity_that_fits_is_found_without_a_search",
        f"{SELECTION}::test_the_order_in_which_candidates_come_does_not_matter",
    ),
    "45 epochs": (
        f"{REQUESTS}::test_fidelity_does_not_go_up_again_within_an_execution",
        f"{HOOKS}::test_another_model_or_budget_begins_an_epoch_of_its_own",
    ),
    "46 provider counters": (
        f"{REQUESTS}::test_a_counter_that_gives_no_whole_number_is_refused",
        f"{REQUESTS}::test_a_managed_plan_asks_at_most_three_times",
    ),
    "47 evidence equal live and stored": (
        f"{MANAGED}::test_evidence_read_back_equals_what_it_was_and_knows_its_own_fields_only",
        f"{THREADS}::test_nothing_of_what_was_said_is_in_receipts_or_keys",
    ),
    "48 no evidence is a typed error": (
        f"{THREADS}::test_a_receipt_is_inspected_from_the_store_in_another_process",
    ),
    "49 only known fields are read back": (
        f"{MANAGED}::test_evidence_read_back_equals_what_it_was_and_knows_its_own_fields_only",
    ),
    "50 previews": (
        f"{REQUESTS}::test_a_preview_fits_is_over_the_limit_or_unknown_and_never_makes_anything",
        f"{REQUESTS}::test_a_preview_throws_for_what_cannot_be_composed",
    ),
    "51 preview and plan agree": (
        f"{LAWS}::test_plan_and_preview_agree_and_a_preview_makes_nothing",
    ),
    "52 hooks": (
        f"{HOOKS}::test_a_hook_sees_the_step_and_amends_it",
        f"{HOOKS}::test_a_hook_that_oversteps_is_refused",
        f"{HOOKS}::test_a_hook_that_raises_or_hangs_stops_the_request",
        f"{HOOKS}::test_what_a_hook_returned_is_read_once_and_what_is_not_there_may_be_removed",
        f"{HOOKS}::test_what_a_hook_sees_cannot_be_changed",
        f"{HOOKS}::test_a_hook_sees_the_calls_of_the_transcript_and_of_the_turn_each_with_its_result",
        f"{HOOKS}::test_a_hook_sees_what_the_execution_took_and_whether_all_of_it_was_reported",
        f"{HOOKS}::test_a_hook_reads_what_is_lent_to_it_once_and_frozen",
    ),
    "the law of support tokens": (f"{SUPPORT}::test_support_tokens_stay_within_the_law",),
    "the same bytes in any process": (
        f"{MANAGED}::test_the_same_facts_give_the_same_bytes_in_any_process",
    ),
    "cancellation at every await": (f"{FLIGHT}::test_a_request_may_be_cancelled_at_every_await",),
    "the head of a request stays above the watermark": (
        f"{PREFIX}::test_above_the_watermark_the_summary_of_the_request_before_stays",
    ),
    "a plan reads what it looks at": (
        f"{THREADS}::test_a_plan_reads_no_more_of_a_thread_than_it_looks_at",
    ),
}


LAST = 52  # behaviours of threads are held by the conformance suite of stores


def test_no_number_is_missing():
    numbered = [int(p.split()[0]) for p in BEHAVIOURS if p.split()[0].isdigit()]

    assert numbered == list(range(1, LAST + 1))


@cache
def names_in(file: str) -> frozenset[str]:
    text = (TESTS / file).read_text(encoding="utf-8")
    return frozenset(re.findall(r"^(?:async )?def (test_\w+)", text, re.MULTILINE))


@pytest.mark.parametrize("promise", BEHAVIOURS)
def test_a_promise_has_its_tests(promise: str):
    for node in BEHAVIOURS[promise]:
        file, name = node.split("::")
        assert name in names_in(file), f"{promise}: {node} is gone"
