import type { ArgumentsCalls } from './call.ts'
import { CLIENT_CALLS } from './client.ts'
import { CONNECTOR_CALLS } from './connectors.ts'
import { JOB_CALLS } from './jobs.ts'
import { LEARNING_CALLS } from './learning.ts'
import { PATTERN_CALLS } from './patterns.ts'
import { STATE_CALLS } from './state.ts'
import { STREAM_CALLS } from './streams.ts'
import { TESTING_CALLS } from './testing.ts'
import { TRAINING_CALLS } from './training.ts'

/** A call for each exported function, constructor and method that a program of a user calls, by its name. */
export const ARGUMENTS: ArgumentsCalls = {
  ...CLIENT_CALLS,
  ...PATTERN_CALLS,
  ...STREAM_CALLS,
  ...STATE_CALLS,
  ...CONNECTOR_CALLS,
  ...JOB_CALLS,
  ...TRAINING_CALLS,
  ...LEARNING_CALLS,
  ...TESTING_CALLS,
}
