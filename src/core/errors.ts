/**
 * Every error Weir raises on purpose: one closed table of codes, one class that carries them.
 * A code is never reused for another meaning; `docs/reference/errors.md` lists them all.
 */

/** Meaning of a code, and whether the same call may succeed later without a change. */
interface CodeEntry {
  readonly retryable: boolean
  /** One sentence, shown in `docs/reference/errors.md`. */
  readonly meaning: string
}

const entry = (retryable: boolean, meaning: string): CodeEntry => ({ retryable, meaning })

/** The closed table of error codes. */
export const ERROR_CODES = {
  // Configuration and use
  INVALID_ARGUMENT: entry(
    false,
    'An option does not exist, or an option or argument has a value that it does not take.',
  ),
  UNKNOWN_OPTION: entry(
    false,
    'A configuration key or flag is not known; the nearest one is named.',
  ),
  INVALID_GRAPH: entry(
    false,
    'The graph of a job or of a pipeline breaks a rule; the sentence names the operator or the step, and the fix.',
  ),
  ILLEGAL_STATE: entry(false, 'The call is not allowed in the present life-cycle state.'),
  UNSUPPORTED: entry(false, 'The request is understood but not offered here.'),
  NOT_FOUND: entry(
    false,
    'What a REST request names does not exist: a job, a vertex, a slot, a checkpoint or a trigger.',
  ),
  // Bytes and formats
  MALFORMED_DATA: entry(false, 'Bytes do not follow the format that they claim to have.'),
  CHECKSUM_MISMATCH: entry(false, 'Stored bytes differ from the checksum written with them.'),
  UNSUPPORTED_VERSION: entry(false, 'A format version is newer than this build reads.'),
  UNPARSABLE_RECORD: entry(
    false,
    'A source record cannot be decoded; its position is in the details.',
  ),
  // State
  KEY_TOO_LONG: entry(false, 'A key is longer than the state allows.'),
  DIMENSION_MISMATCH: entry(false, 'A vector does not have the dimension that its state declares.'),
  NOT_FINITE: entry(false, 'A NaN or infinite number was about to be stored.'),
  STATE_CONFLICT: entry(false, 'A state name is declared twice with different types or shapes.'),
  OUT_OF_ROW_MEMORY: entry(false, 'A row table reached its limit and has no store to spill to.'),
  STORE_FAILED: entry(true, 'A state store could not read or write.'),
  // Log and connectors
  UNKNOWN_TOPIC: entry(false, 'The topic does not exist.'),
  TOPIC_CHANGED: entry(
    false,
    'The offsets of a checkpoint belong to another topic, or the topic was deleted and created again.',
  ),
  TOPIC_EXISTS: entry(false, 'The topic exists already with another configuration.'),
  OFFSET_OUT_OF_RANGE: entry(false, 'The offset is outside what the partition still holds.'),
  LOG_LOCKED: entry(true, 'Another process writes to this log directory.'),
  TRANSACTION_FENCED: entry(false, 'A newer producer took over the transactional id.'),
  INVALID_TRANSACTION: entry(
    false,
    'The transaction is unknown or in a state that forbids the call.',
  ),
  TRANSACTION_ABORTED: entry(
    false,
    'The broker or log no longer accepts the open transaction, or the id of its producer; another one takes its place.',
  ),
  RECORD_REFUSED: entry(
    false,
    'The topic of a sink refuses a record for its time or its form; the message names record and setting.',
  ),
  CONNECTOR_FAILED: entry(true, 'An external system refused or did not answer.'),
  FILE_NOT_FOUND: entry(false, 'The file or folder does not exist.'),
  FILE_EXISTS: entry(false, 'A file of that name exists already and was not replaced.'),
  PERMISSION_DENIED: entry(
    false,
    'The file system, or an external system, does not allow this to the user.',
  ),
  DISK_FULL: entry(true, 'The disk or the quota of the user is full.'),
  WATERMARK_HELD_BACK: entry(
    false,
    'A source gives no results, because partitions without records hold its event time back and no idle timeout is set.',
  ),
  TABLE_LOADING: entry(
    false,
    'An operator reads a table to the end that it had at the start, before the stream that it joins with it.',
  ),
  // Checkpoints
  CHECKPOINT_EXPIRED: entry(true, 'A checkpoint took longer than its timeout.'),
  CHECKPOINT_DECLINED: entry(true, 'A subtask could not take part in a checkpoint.'),
  CHECKPOINT_NOT_FOUND: entry(false, 'No checkpoint or savepoint is at the given path.'),
  JOB_ALREADY_RUNNING: entry(false, 'Another process, which runs, has the job.'),
  MEMBERSHIP_LOST: entry(
    false,
    'The process is no longer a member of its group, or the group has a newer generation; the process joins again.',
  ),
  COORDINATOR_FENCED: entry(false, 'A newer coordinator owns the checkpoint directory.'),
  STORAGE_FAILED: entry(true, 'Checkpoint storage could not read or write.'),
  MAX_PARALLELISM_CHANGED: entry(false, 'Max parallelism differs from the one in the checkpoint.'),
  STATE_LEFT_OVER: entry(
    false,
    'The checkpoint has state that the job no longer has: of an operator, or of a state name.',
  ),
  // Runtime
  WRONG_PARTITIONING: entry(
    false,
    'A record is in a subtask that does not own its key, in a stream said to be keyed already.',
  ),
  NO_EVENT_TIME: entry(
    false,
    'A record has no event time, or one that no date has; windows and joins take it as a late one.',
  ),
  SLOT_LOST: entry(true, 'A slot thread ended or stopped answering.'),
  SLOT_BUSY: entry(
    true,
    'A slot answers no message while one call goes through the state of many keys; it goes on, and is not lost.',
  ),
  NOT_ASSOCIATIVE: entry(
    false,
    'A function that was declared associative gives another result when its records are folded in parts.',
  ),
  ENDLESS_TIMERS: entry(
    false,
    'The timers of a function register further ones without an end when the input of their operator has ended.',
  ),
  TOO_MANY_PARTIAL_MATCHES: entry(
    false,
    'A key has more partial matches of a pattern than the operator may keep for it.',
  ),
  OPERATOR_FAILED: entry(true, 'User code or an operator threw; the cause carries the original.'),
  JOB_FAILED: entry(false, 'The job ended because its restart strategy allows no further attempt.'),
  JOB_PROCESS_LOST: entry(
    true,
    'The process of a job ended before the job did; the JobManager starts another one.',
  ),
  JOB_CANCELED: entry(false, 'The job was canceled.'),
  // Queries
  UNKNOWN_KEY: entry(false, 'The owner of the key says that it does not exist.'),
  UNKNOWN_STATE: entry(false, 'No queryable state has this name.'),
  UNKNOWN_TAG: entry(false, 'No row has ever had the tag that a rule of a top-k names.'),
  UNKNOWN_VERSION: entry(false, 'The model version is not loaded.'),
  NOT_OWNER: entry(true, 'This server does not own the key; the details carry a hint.'),
  RESTORING: entry(
    true,
    'The owner is still starting or restoring and cannot answer for this key yet.',
  ),
  NOT_UP_TO_BOUND: entry(
    true,
    'The state has not reached the position or freshness that was asked for.',
  ),
  OVERLOADED: entry(
    true,
    'The server has more work queued than it accepts, or the token has used up its rate of requests.',
  ),
  DEADLINE_EXCEEDED: entry(true, 'No answer came before the deadline.'),
  UNAVAILABLE: entry(true, 'No server could be reached.'),
  FRAME_TOO_LARGE: entry(
    false,
    'A frame, or a record for a topic, exceeds the size limit of its receiver.',
  ),
  PROTOCOL_ERROR: entry(false, 'The peer broke the query protocol; the connection is closed.'),
  UNAUTHENTICATED: entry(false, 'The token, user or password is missing or wrong.'),
  ACCESS_DENIED: entry(false, 'The role of the token, or an external system, does not allow this.'),
  // Inference
  UNKNOWN_MODEL: entry(false, 'No model of this name and version is served.'),
  SIGNATURE_MISMATCH: entry(
    false,
    'A tensor does not fit the signature of the model: its name, datatype or shape differs.',
  ),
  MODEL_FAILED: entry(false, 'The model could not be read, or threw while it ran.'),
  MODEL_NOT_LOADED: entry(true, 'The model is known but not loaded now.'),
  REMOTE_MODEL_FAILED: entry(
    true,
    'The server of a remote model failed, or its answer is not what it promised; the sentence names the server.',
  ),
  WORKER_LOST: entry(
    true,
    'The worker that ran the request ended, and the deadline or the attempts allow no other try.',
  ),
  POISONED_REQUEST: entry(
    false,
    'The request ended every worker that ran it, also when it ran alone.',
  ),
  MODEL_MEMORY_EXCEEDED: entry(
    false,
    'The request took the process of its model above the memory limit, also when it ran alone.',
  ),
  SEQUENCE_LOST: entry(
    false,
    'What a request of a sequence needs from the earlier ones is not there; the sentence says why. Begin the sequence again.',
  ),
  SEQUENCE_OUT_OF_STEP: entry(
    false,
    'A request of a sequence follows another answer than the last one that is stored, or does not say which; the sentence says what is stored.',
  ),
  // Learning
  EMPTY_DATASET: entry(false, 'There is nothing to train on or to evaluate.'),
  GPU_UNAVAILABLE: entry(
    false,
    'Training on a GPU was asked for, but there is no adapter, or ONNX Runtime is not installed.',
  ),
  GPU_FAILED: entry(false, 'The GPU could not compile or run what it was given.'),
  TRAINING_DIVERGED: entry(false, 'The objective is no longer finite.'),
  PROMOTION_REFUSED: entry(
    false,
    'A check that a model version needs before it goes live is missing, outdated or failed.',
  ),
  VERSION_EXISTS: entry(
    false,
    'The model topic has this version already; a version never changes.',
  ),
  REGISTRY_CONFLICT: entry(
    false,
    'The model registry changed in between: another version is live, or has the number.',
  ),
} as const satisfies Record<string, CodeEntry>

/** A code of the closed table. */
export type ErrorCode = keyof typeof ERROR_CODES

/**
 * Codes of errors that a restart of the job may remove although the same call cannot succeed: the next
 * attempt opens another transaction, or does not meet the same race.
 */
const REMOVED_BY_RESTART: ReadonlySet<ErrorCode> = new Set([
  'TRANSACTION_FENCED',
  'TRANSACTION_ABORTED',
  'ILLEGAL_STATE',
])

/** Whether a job that failed with this code may run after a restart, without a change by a person. */
export function mayPassAfterRestart(code: ErrorCode): boolean {
  return ERROR_CODES[code].retryable || REMOVED_BY_RESTART.has(code)
}

/** Details of an error, which are also sent over the wire: plain data only. */
export type ErrorDetails = Readonly<Record<string, string | number | boolean>>

/** The one error class of Weir; `code` says which situation, the message what to do about it. */
export class WeirError extends Error {
  override readonly name = 'WeirError'
  readonly code: ErrorCode
  readonly details: ErrorDetails

  constructor(
    code: ErrorCode,
    message: string,
    options: { readonly cause?: unknown; readonly details?: ErrorDetails } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.details = options.details ?? {}
  }

  /** Whether the same call may succeed later without a change. */
  get retryable(): boolean {
    return ERROR_CODES[this.code].retryable
  }
}

function unknownCode(code: string): WeirError {
  const shown = String(code).slice(0, 60)
  const message = `isWeirError(...): there is no code "${shown}"; ERROR_CODES lists them`
  return new WeirError('INVALID_ARGUMENT', message)
}

/**
 * Whether `error` is a WeirError, of `code` if one is given. An error of another copy of Weir in the process, such as
 * that of the project whose job a global `weir` runs, is one, too: its code counts, not its class. Throws
 * INVALID_ARGUMENT for a code that does not exist, which no error would ever have.
 */
export function isWeirError(error: unknown, code?: ErrorCode): error is WeirError {
  if (code !== undefined && !Object.hasOwn(ERROR_CODES, code)) throw unknownCode(code)
  const isOne = error instanceof WeirError || isOfOtherCopy(error)
  return isOne && (code === undefined || error.code === code)
}

function isOfOtherCopy(error: unknown): error is WeirError {
  if (!(error instanceof Error) || error.name !== 'WeirError') return false
  const { code, details } = error as Partial<WeirError>
  return typeof code === 'string' && Object.hasOwn(ERROR_CODES, code) && typeof details === 'object'
}

/** The copies of Weir in this thread, by the URL of this module. */
const COPIES: Set<string> = copiesOfThread()
COPIES.add(import.meta.url)

function copiesOfThread(): Set<string> {
  const shared = globalThis as { [key: symbol]: Set<string> | undefined }
  const name = Symbol.for('weir.copies')
  shared[name] ??= new Set()
  return shared[name]
}

/** The URLs of the copies of Weir that this thread has loaded; usually one. */
export function loadedCopies(): readonly string[] {
  return [...COPIES]
}

/**
 * Anything that was thrown as a WeirError: itself if it is one, else an error of `code` with its
 * message, after `context` if given. An error of the file system gets its own code and advice.
 */
export function asWeirError(thrown: unknown, code: ErrorCode, context?: string): WeirError {
  if (isWeirError(thrown)) return thrown
  const system = systemErrorOf(thrown)
  const message =
    system === undefined ? messageOf(thrown) : `${messageOf(thrown)}; ${system.advice}`
  const text = context === undefined ? message : `${context}: ${message}`
  return new WeirError(system?.code ?? code, text, { cause: thrown })
}

interface SystemError {
  readonly code: ErrorCode
  /** What the user can do. */
  readonly advice: string
}

const NO_PERMISSION: SystemError = {
  code: 'PERMISSION_DENIED',
  advice: 'give the user of this process the right to it, or name another path',
}
const READ_ONLY: SystemError = {
  code: 'PERMISSION_DENIED',
  advice: 'the file system is read-only; name a path on one that can be written',
}
const FULL: SystemError = {
  code: 'DISK_FULL',
  advice: 'free space, or name a path on another file system',
}

/** Errors of the file system that a user can do something about, by Node's code. */
const SYSTEM_ERRORS: Readonly<Record<string, SystemError>> = {
  ENOENT: { code: 'FILE_NOT_FOUND', advice: 'check the path' },
  ENOTDIR: { code: 'FILE_NOT_FOUND', advice: 'a part of the path is a file; check the path' },
  ELOOP: { code: 'FILE_NOT_FOUND', advice: 'its symbolic links form a circle; check the path' },
  ENAMETOOLONG: { code: 'FILE_NOT_FOUND', advice: 'a name in it is too long; check the path' },
  EACCES: NO_PERMISSION,
  EPERM: NO_PERMISSION,
  EROFS: READ_ONLY,
  ENOSPC: FULL,
  EDQUOT: FULL,
}

/** The code and advice of an error of the file system; undefined for anything else. */
export function systemErrorOf(thrown: unknown): SystemError | undefined {
  if (!(thrown instanceof Error) || !('syscall' in thrown) || !('code' in thrown)) return undefined
  const { code } = thrown
  return typeof code === 'string' && Object.hasOwn(SYSTEM_ERRORS, code)
    ? SYSTEM_ERRORS[code]
    : undefined
}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Ends a `switch` over a closed set: reaching it is a programming error. */
export function assertNever(value: never): never {
  throw new WeirError('ILLEGAL_STATE', `unexpected value ${JSON.stringify(value)}`)
}

/**
 * Throws INVALID_ARGUMENT with `sentence` unless `condition` holds. The sentence is made in any case, and a number
 * in it costs 100 ns: a function that is called for each record or row throws by itself.
 */
export function requireArgument(condition: boolean, sentence: string): asserts condition {
  if (!condition) throw new WeirError('INVALID_ARGUMENT', sentence)
}
