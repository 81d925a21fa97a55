/** How one metric of a job is named and measured for Prometheus. */
export interface PrometheusMetric {
  readonly name: string
  /** `summary`: the metric is a histogram of Weir, reported with quantiles. */
  readonly type: 'counter' | 'gauge' | 'summary'
  readonly help: string
  /** Factor to Prometheus's base unit. @default 1 */
  readonly factor?: number
  /** Whether a negative value means that there is none yet. @default false */
  readonly absentBelowZero?: boolean
}

/** Metrics of one scope by Weir's name, which is Flink's where Flink has one. */
export type ScopeMetrics = Readonly<Record<string, PrometheusMetric>>

const MS = 1e-3

/** Metrics of a job. */
export const JOB_METRICS: ScopeMetrics = {
  numRestarts: counter('weir_job_restarts_total', 'Attempts of the job after the first.'),
  totalNumberOfCheckpoints: counter(
    'weir_job_checkpoints_triggered_total',
    'Checkpoints that were triggered, with any outcome.',
  ),
  numberOfInProgressCheckpoints: gauge(
    'weir_job_checkpoints_in_progress',
    'Checkpoints in progress.',
  ),
  numberOfCompletedCheckpoints: counter(
    'weir_job_checkpoints_completed_total',
    'Checkpoints that are completed and durable.',
  ),
  numberOfFailedCheckpoints: counter(
    'weir_job_checkpoints_failed_total',
    'Checkpoints that expired, were declined or failed.',
  ),
  numberOfCheckpointFileWarnings: counter(
    'weir_job_checkpoint_file_warnings_total',
    'Damaged checkpoints that were passed over, and files that could not be deleted.',
  ),
  lastCompletedCheckpointId: gauge(
    'weir_job_last_completed_checkpoint_id',
    'Id of the last completed checkpoint.',
    { absentBelowZero: true },
  ),
  lastCheckpointDuration: gauge(
    'weir_job_last_checkpoint_duration_seconds',
    'Time of the last checkpoint from its trigger to its last acknowledgement.',
    { factor: MS, absentBelowZero: true },
  ),
  lastCheckpointSize: gauge(
    'weir_job_last_checkpoint_size_bytes',
    'Bytes that the last checkpoint added.',
    { absentBelowZero: true },
  ),
  lastCheckpointFullSize: gauge(
    'weir_job_last_checkpoint_full_size_bytes',
    'Bytes of everything that the last checkpoint refers to.',
    { absentBelowZero: true },
  ),
  lastCheckpointRestoreTimestamp: gauge(
    'weir_job_last_checkpoint_restore_timestamp_seconds',
    'Unix time of the last restore.',
    { factor: MS, absentBelowZero: true },
  ),
}

/** Metrics of a slot. */
export const SLOT_METRICS: ScopeMetrics = {
  mailboxLatencyMs: summary(
    'weir_slot_mailbox_latency_seconds',
    'How late the loop of a slot handles control messages.',
  ),
  heapUsedBytes: gauge('weir_slot_heap_used_bytes', 'Heap of the thread of a slot that is in use.'),
  heapCommittedBytes: gauge(
    'weir_slot_heap_committed_bytes',
    'Heap that the thread of a slot has taken from the system.',
  ),
  heapMaxBytes: gauge('weir_slot_heap_max_bytes', 'Limit of the heap of the thread of a slot.'),
}

/** Metrics of a subtask of a chain. */
export const TASK_METRICS: ScopeMetrics = {
  busyTimeMsPerSecond: gauge('weir_task_busy_ratio', 'Share of time spent processing.', {
    factor: MS,
  }),
  idleTimeMsPerSecond: gauge('weir_task_idle_ratio', 'Share of time spent waiting for input.', {
    factor: MS,
  }),
  backPressuredTimeMsPerSecond: gauge(
    'weir_task_back_pressured_ratio',
    'Share of time spent waiting for credit of an output, or for a sink.',
    { factor: MS },
  ),
  accumulatedBusyTimeMs: counter('weir_task_busy_seconds_total', 'Time spent processing.', {
    factor: MS,
  }),
  accumulatedIdleTimeMs: counter('weir_task_idle_seconds_total', 'Time spent waiting for input.', {
    factor: MS,
  }),
  accumulatedBackPressuredTimeMs: counter(
    'weir_task_back_pressured_seconds_total',
    'Time spent waiting for credit of an output, or for a sink.',
    { factor: MS },
  ),
  numBytesIn: counter(
    'weir_task_received_bytes_total',
    'Bytes of batches received from other subtasks; of records that were not encoded, what they take of memory.',
  ),
  numBytesOut: counter(
    'weir_task_sent_bytes_total',
    'Bytes of batches sent to other subtasks; of records that were not encoded, what they take of memory.',
  ),
  numBytesOutPerSecond: gauge(
    'weir_task_sent_bytes_per_second',
    'Bytes of batches sent to other subtasks per second.',
  ),
}

/** Metrics of an operator. Metrics that are not listed here are the user's: `USER_METRIC`. */
export const OPERATOR_METRICS: ScopeMetrics = {
  numRecordsIn: counter('weir_operator_records_in_total', 'Records received; of a source: read.'),
  numRecordsInPerSecond: gauge(
    'weir_operator_records_in_per_second',
    'Records received per second; of a source: read.',
  ),
  numRecordsOut: counter(
    'weir_operator_records_out_total',
    'Records emitted, side outputs included.',
  ),
  numRecordsOutPerSecond: gauge(
    'weir_operator_records_out_per_second',
    'Records emitted per second, side outputs included.',
  ),
  currentInputWatermark: watermark('weir_operator_input_watermark_timestamp_seconds', 'received'),
  currentOutputWatermark: watermark('weir_operator_output_watermark_timestamp_seconds', 'emitted'),
  watermarkAlignmentDrift: gauge(
    'weir_operator_watermark_alignment_drift_seconds',
    'Of a source with an alignment: its watermark less the allowed one.',
    { factor: MS },
  ),
  rowTableBytes: gauge('weir_operator_row_table_bytes', 'Shared memory of row tables.'),
  typedStateBytes: gauge('weir_operator_typed_state_bytes', 'Memory of all other state.'),
  typedStateEvictions: counter(
    'weir_operator_typed_state_evictions_total',
    'Entries moved to the state store to stay within the budget.',
  ),
  numLostTransactions: counter(
    'weir_operator_lost_transactions_total',
    'Restored transactions that were lost.',
  ),
  numLateRecordsDropped: counter(
    'weir_operator_late_records_dropped_total',
    'Records too late for any window, interval join or pattern.',
  ),
  numPartialMatchesDropped: counter(
    'weir_operator_partial_matches_dropped_total',
    'Partial matches of keys that had too many of a pattern.',
  ),
  numRecordsWithoutRow: counter(
    'weir_operator_records_without_row_total',
    'Records of a join with a table that has no row of their key.',
  ),
  numLateRowChanges: counter(
    'weir_operator_late_row_changes_total',
    'Changes of rows that came after records of their time were joined.',
  ),
  numLateRowChangesDropped: counter(
    'weir_operator_late_row_changes_dropped_total',
    'Changes of rows older than the history of a join by event time.',
  ),
  numRecordsFailed: counter(
    'weir_operator_failed_records_total',
    'Records at which a function threw, and that onError left out.',
  ),
  numRecordsUndecodable: counter(
    'weir_operator_undecodable_records_total',
    'Records that the deserializer refused.',
  ),
  pendingRecords: gauge(
    'weir_operator_pending_records',
    'Offsets of the partitions of a source that are not read yet.',
  ),
  numRecordsSkipped: counter(
    'weir_operator_skipped_records_total',
    'Records that the deserializer left out on purpose.',
  ),
  numRecordsDropped: counter(
    'weir_operator_dropped_records_total',
    'Records that are not a row of the model, or that its state refused.',
  ),
  ratingsLearned: counter('weir_learning_ratings_learned_total', 'Ratings learned.'),
  ratingsRefused: counter('weir_learning_ratings_refused_total', 'Ratings refused.'),
  observationsRefused: counter(
    'weir_learning_observations_refused_total',
    'Records refused that are no examples, or no ratings for a history.',
  ),
  deltasFolded: counter('weir_learning_deltas_folded_total', 'Deltas added to the rows of items.'),
  deltasDuplicate: counter(
    'weir_learning_duplicate_deltas_total',
    'Duplicates of deltas after a restart, dropped.',
  ),
  deltasDropped: counter(
    'weir_learning_dropped_deltas_total',
    'Deltas of other models, or of versions that are no longer learned.',
  ),
  itemRowsAsked: counter(
    'weir_learning_item_rows_asked_total',
    'Rows of items that another slot had in its store, and was asked for.',
  ),
  learningVersion: gauge(
    'weir_learning_version',
    'Version that the slot learned on last; 0 before the first.',
  ),
  freshnessMs: gauge(
    'weir_learning_freshness_seconds',
    'Now minus the time of the newest rating read: that of its text, else that of its record.',
    { factor: MS },
  ),
  updateToVisibleMedianMs: gauge(
    'weir_learning_update_to_visible_median_seconds',
    'Time from a rating to the change of its rows in memory, median of the newest ones.',
    { factor: MS },
  ),
  updateToVisibleMaxMs: gauge(
    'weir_learning_update_to_visible_max_seconds',
    'Time from a rating to the change of its rows in memory, longest of the newest ones.',
    { factor: MS },
  ),
  prequentialMse: gauge(
    'weir_learning_prequential_mse',
    'Squared error of predictions before learning, since the version went live.',
  ),
  prequentialWindowMse: gauge(
    'weir_learning_prequential_window_mse',
    'Squared error of predictions before learning, over the window.',
  ),
  prequentialFadedMse: gauge(
    'weir_learning_prequential_faded_mse',
    'Squared error of predictions before learning, with a fading factor.',
  ),
  prequentialFrozenMse: gauge(
    'weir_learning_prequential_frozen_mse',
    'Squared error with a fading factor of the version without learning.',
  ),
  learningStopped: gauge(
    'weir_learning_stopped',
    '1 while learning is stopped, because it made the predictions worse.',
  ),
  observationsRepeated: counter(
    'weir_learning_observations_repeated_total',
    'Observations whose event came before.',
  ),
  ratingsLeftOut: counter(
    'weir_learning_ratings_left_out_total',
    'Ratings that were not learned, because learning is stopped.',
  ),
  observationsLeftOut: counter(
    'weir_learning_observations_left_out_total',
    'Examples that were not learned, because learning is stopped.',
  ),
  driftAlarms: counter(
    'weir_learning_drift_alarms_total',
    'Alarms of the drift detectors on the errors.',
  ),
  betterAlarms: counter(
    'weir_learning_better_alarms_total',
    'Alarms of an error without learning that fell.',
  ),
  prequentialCoverage: gauge(
    'weir_learning_prequential_coverage_ratio',
    'Share of ratings whose user and item had rows.',
  ),
  observationsLearned: counter(
    'weir_learning_observations_learned_total',
    'Examples learned, with a step or without one.',
  ),
  observationsRead: counter(
    'weir_learning_observations_read_total',
    'Records of the examples that were read, also those that are no examples.',
  ),
  examplesAsked: counter(
    'weir_learning_examples_asked_total',
    'Examples with weights that slots had in their stores, and were asked for, and those that waited behind them.',
  ),
  stepsFolded: counter('weir_learning_steps_folded_total', 'Steps added to blocks of weights.'),
  prequentialLoss: gauge('weir_learning_prequential_loss', 'Mean loss before learning.'),
  prequentialFrozenLoss: gauge(
    'weir_learning_prequential_frozen_loss',
    'Loss with a fading factor of the version without learning.',
  ),
  prequentialFadedLoss: gauge(
    'weir_learning_prequential_faded_loss',
    'Mean loss before learning, with a fading factor.',
  ),
  prequentialAccuracy: gauge(
    'weir_learning_prequential_accuracy_ratio',
    'Share of labels that were predicted before learning.',
  ),
  prequentialFadedAccuracy: gauge(
    'weir_learning_prequential_faded_accuracy_ratio',
    'Share of labels that were predicted before learning, with a fading factor.',
  ),
  prequentialAuc: gauge(
    'weir_learning_prequential_auc_ratio',
    'Area under the ROC curve of the newest predictions before learning.',
  ),
}

/** Metrics of a query thread. The metrics of a request's kind and of an error's code have a label. */
export const QUERY_METRICS: ScopeMetrics = {
  numConnections: counter('weir_query_connections_accepted_total', 'Connections accepted.'),
  numConnectionsRefused: counter(
    'weir_query_connections_refused_total',
    'Connections refused because there were too many.',
  ),
  numConnectionsClosed: counter('weir_query_connections_closed_total', 'Connections that ended.'),
  numBytesIn: counter('weir_query_received_bytes_total', 'Bytes received.'),
  numBytesOut: counter('weir_query_sent_bytes_total', 'Bytes sent.'),
  'numRequests.KIND': counter('weir_query_requests_total', 'Requests by kind.'),
  'numErrors.CODE': counter('weir_query_errors_total', 'Failed answers by error code.'),
  latencyMs: summary(
    'weir_query_latency_seconds',
    'Time from reading a request to writing its answer.',
  ),
}

/** Metrics that functions of the user report, by the label `metric`. */
export const USER_METRIC = {
  name: 'weir_operator_user_metric',
  help: 'Metrics that functions of the job report, by the label "metric".',
} as const

type Extra = Pick<PrometheusMetric, 'factor' | 'absentBelowZero'>

function counter(name: string, help: string, extra: Extra = {}): PrometheusMetric {
  return { name, type: 'counter', help, ...extra }
}

function gauge(name: string, help: string, extra: Extra = {}): PrometheusMetric {
  return { name, type: 'gauge', help, ...extra }
}

function summary(name: string, help: string): PrometheusMetric {
  return { name, type: 'summary', help, factor: MS }
}

function watermark(name: string, verb: 'received' | 'emitted'): PrometheusMetric {
  return gauge(name, `Event time of the last watermark ${verb}.`, {
    factor: MS,
    absentBelowZero: true,
  })
}
