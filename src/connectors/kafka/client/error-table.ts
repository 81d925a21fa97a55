import type { ErrorCode } from '../../../core/errors.ts'

/**
 * What can follow an error, in the classes of Kafka's clients. `retriable`: the same request may succeed later.
 * `abortable`: no repetition of the request succeeds, but another transaction or producer id does. `fatal`: nothing
 * succeeds without a change by a person.
 */
export type KafkaErrorClass = 'none' | 'retriable' | 'abortable' | 'fatal'

/** An error number of the protocol. */
export interface KafkaErrorEntry {
  readonly number: number
  /** The protocol's name. */
  readonly name: string
  readonly kind: KafkaErrorClass
  /** The code of the error that Weir throws; undefined for `NONE`. */
  readonly code: ErrorCode | undefined
  /** What Weir does, if it is not what it does with each error of this class. */
  readonly does?: string
}

/** Errors of requests that Weir does not send: tokens, shares, voters, reassignments. */
const NOT_SENT = 'Not met: Weir sends no request that has this answer.'

const retriable = (number: number, name: string, does?: string): KafkaErrorEntry => ({
  number,
  name,
  kind: 'retriable',
  code: 'CONNECTOR_FAILED',
  ...(does === undefined ? {} : { does }),
})

const abortable = (
  number: number,
  name: string,
  code: ErrorCode = 'TRANSACTION_ABORTED',
): KafkaErrorEntry => ({ number, name, kind: 'abortable', code })

const fatal = (
  number: number,
  name: string,
  code: ErrorCode = 'UNSUPPORTED',
  does?: string,
): KafkaErrorEntry => ({
  number,
  name,
  kind: 'fatal',
  code,
  ...(does === undefined ? {} : { does }),
})

const notSent = (number: number, name: string): KafkaErrorEntry =>
  fatal(number, name, 'UNSUPPORTED', NOT_SENT)

const NAMES_RIGHT = 'Names the right that the user lacks and the command that grants it.'
const MAKES_SMALLER =
  'A producer sends the halves of the batch, and a dead letter without its value. A single record that is too large follows the option `unwritable` of the sink.'
const JOINS_AGAIN = 'A member joins the group again.'
const NARROWS =
  'A producer sends the halves of the batch, until the record is alone. It follows the option `unwritable` of the sink; the error names record and setting.'

/** Every error number of the protocol, in order, as of Kafka 4.3. */
export const KAFKA_ERROR_TABLE: readonly KafkaErrorEntry[] = [
  retriable(-1, 'UNKNOWN_SERVER_ERROR'),
  { number: 0, name: 'NONE', kind: 'none', code: undefined },
  fatal(
    1,
    'OFFSET_OUT_OF_RANGE',
    'OFFSET_OUT_OF_RANGE',
    'A source follows its option `outOfRange`.',
  ),
  retriable(2, 'CORRUPT_MESSAGE'),
  retriable(
    3,
    'UNKNOWN_TOPIC_OR_PARTITION',
    'A topic may be new for 3 s; after that it is UNKNOWN_TOPIC, which ends the job.',
  ),
  fatal(4, 'INVALID_FETCH_SIZE'),
  retriable(5, 'LEADER_NOT_AVAILABLE'),
  retriable(6, 'NOT_LEADER_OR_FOLLOWER'),
  retriable(7, 'REQUEST_TIMED_OUT'),
  retriable(8, 'BROKER_NOT_AVAILABLE'),
  retriable(9, 'REPLICA_NOT_AVAILABLE'),
  fatal(10, 'MESSAGE_TOO_LARGE', 'FRAME_TOO_LARGE', MAKES_SMALLER),
  notSent(11, 'STALE_CONTROLLER_EPOCH'),
  fatal(12, 'OFFSET_METADATA_TOO_LARGE'),
  retriable(13, 'NETWORK_EXCEPTION'),
  retriable(14, 'COORDINATOR_LOAD_IN_PROGRESS'),
  retriable(15, 'COORDINATOR_NOT_AVAILABLE'),
  retriable(16, 'NOT_COORDINATOR'),
  fatal(17, 'INVALID_TOPIC_EXCEPTION', 'INVALID_ARGUMENT'),
  fatal(18, 'RECORD_LIST_TOO_LARGE', 'FRAME_TOO_LARGE', MAKES_SMALLER),
  retriable(19, 'NOT_ENOUGH_REPLICAS'),
  retriable(20, 'NOT_ENOUGH_REPLICAS_AFTER_APPEND'),
  fatal(21, 'INVALID_REQUIRED_ACKS'),
  fatal(22, 'ILLEGAL_GENERATION', 'MEMBERSHIP_LOST', JOINS_AGAIN),
  fatal(
    23,
    'INCONSISTENT_GROUP_PROTOCOL',
    'INVALID_ARGUMENT',
    'Consumers that are not of this job have the group: take another id.',
  ),
  fatal(24, 'INVALID_GROUP_ID', 'INVALID_ARGUMENT'),
  fatal(
    25,
    'UNKNOWN_MEMBER_ID',
    'MEMBERSHIP_LOST',
    'A member joins again. A source without membership counts its commit of offsets as failed.',
  ),
  fatal(
    26,
    'INVALID_SESSION_TIMEOUT',
    'INVALID_ARGUMENT',
    "Names the timeout and the broker's settings that bound it.",
  ),
  fatal(27, 'REBALANCE_IN_PROGRESS', 'MEMBERSHIP_LOST', JOINS_AGAIN),
  fatal(28, 'INVALID_COMMIT_OFFSET_SIZE'),
  fatal(29, 'TOPIC_AUTHORIZATION_FAILED', 'ACCESS_DENIED', NAMES_RIGHT),
  fatal(30, 'GROUP_AUTHORIZATION_FAILED', 'ACCESS_DENIED', NAMES_RIGHT),
  fatal(31, 'CLUSTER_AUTHORIZATION_FAILED', 'ACCESS_DENIED', NAMES_RIGHT),
  fatal(32, 'INVALID_TIMESTAMP', 'RECORD_REFUSED', NARROWS),
  fatal(33, 'UNSUPPORTED_SASL_MECHANISM', 'UNAUTHENTICATED'),
  fatal(34, 'ILLEGAL_SASL_STATE', 'UNAUTHENTICATED'),
  fatal(35, 'UNSUPPORTED_VERSION'),
  fatal(36, 'TOPIC_ALREADY_EXISTS', 'TOPIC_EXISTS'),
  fatal(37, 'INVALID_PARTITIONS', 'INVALID_ARGUMENT'),
  fatal(38, 'INVALID_REPLICATION_FACTOR', 'INVALID_ARGUMENT'),
  fatal(39, 'INVALID_REPLICA_ASSIGNMENT', 'INVALID_ARGUMENT'),
  fatal(40, 'INVALID_CONFIG', 'INVALID_ARGUMENT'),
  retriable(41, 'NOT_CONTROLLER'),
  fatal(42, 'INVALID_REQUEST'),
  fatal(43, 'UNSUPPORTED_FOR_MESSAGE_FORMAT'),
  fatal(44, 'POLICY_VIOLATION', 'INVALID_ARGUMENT'),
  abortable(45, 'OUT_OF_ORDER_SEQUENCE_NUMBER'),
  {
    number: 46,
    name: 'DUPLICATE_SEQUENCE_NUMBER',
    kind: 'none',
    code: undefined,
    does: 'The broker has the batch already: it counts as acknowledged.',
  },
  abortable(47, 'INVALID_PRODUCER_EPOCH', 'TRANSACTION_FENCED'),
  abortable(48, 'INVALID_TXN_STATE'),
  abortable(49, 'INVALID_PRODUCER_ID_MAPPING'),
  fatal(
    50,
    'INVALID_TRANSACTION_TIMEOUT',
    'INVALID_ARGUMENT',
    "Names `transactionTimeoutMs` and the broker's limit.",
  ),
  retriable(
    51,
    'CONCURRENT_TRANSACTIONS',
    'The transaction before is still being ended: sends the request again after 2 ms.',
  ),
  abortable(52, 'TRANSACTION_COORDINATOR_FENCED'),
  fatal(53, 'TRANSACTIONAL_ID_AUTHORIZATION_FAILED', 'ACCESS_DENIED', NAMES_RIGHT),
  fatal(54, 'SECURITY_DISABLED'),
  fatal(
    55,
    'OPERATION_NOT_ATTEMPTED',
    'UNSUPPORTED',
    'Another partition of the request failed: Weir acts on its error.',
  ),
  retriable(56, 'KAFKA_STORAGE_ERROR'),
  notSent(57, 'LOG_DIR_NOT_FOUND'),
  fatal(58, 'SASL_AUTHENTICATION_FAILED', 'UNAUTHENTICATED'),
  abortable(59, 'UNKNOWN_PRODUCER_ID'),
  notSent(60, 'REASSIGNMENT_IN_PROGRESS'),
  notSent(61, 'DELEGATION_TOKEN_AUTH_DISABLED'),
  notSent(62, 'DELEGATION_TOKEN_NOT_FOUND'),
  notSent(63, 'DELEGATION_TOKEN_OWNER_MISMATCH'),
  notSent(64, 'DELEGATION_TOKEN_REQUEST_NOT_ALLOWED'),
  notSent(65, 'DELEGATION_TOKEN_AUTHORIZATION_FAILED'),
  notSent(66, 'DELEGATION_TOKEN_EXPIRED'),
  notSent(67, 'INVALID_PRINCIPAL_TYPE'),
  notSent(68, 'NON_EMPTY_GROUP'),
  fatal(69, 'GROUP_ID_NOT_FOUND', 'INVALID_ARGUMENT'),
  retriable(70, 'FETCH_SESSION_ID_NOT_FOUND'),
  retriable(71, 'INVALID_FETCH_SESSION_EPOCH'),
  retriable(72, 'LISTENER_NOT_FOUND'),
  fatal(73, 'TOPIC_DELETION_DISABLED'),
  retriable(74, 'FENCED_LEADER_EPOCH'),
  retriable(75, 'UNKNOWN_LEADER_EPOCH'),
  fatal(76, 'UNSUPPORTED_COMPRESSION_TYPE'),
  notSent(77, 'STALE_BROKER_EPOCH'),
  retriable(78, 'OFFSET_NOT_AVAILABLE'),
  fatal(79, 'MEMBER_ID_REQUIRED', 'UNSUPPORTED', 'Joins again with the id of the answer.'),
  retriable(80, 'PREFERRED_LEADER_NOT_AVAILABLE'),
  fatal(81, 'GROUP_MAX_SIZE_REACHED'),
  fatal(
    82,
    'FENCED_INSTANCE_ID',
    'MEMBERSHIP_LOST',
    'Another process has joined under the same `group.instance.id`.',
  ),
  retriable(83, 'ELIGIBLE_LEADERS_NOT_AVAILABLE'),
  retriable(84, 'ELECTION_NOT_NEEDED', NOT_SENT),
  notSent(85, 'NO_REASSIGNMENT_IN_PROGRESS'),
  notSent(86, 'GROUP_SUBSCRIBED_TO_TOPIC'),
  fatal(87, 'INVALID_RECORD', 'RECORD_REFUSED', NARROWS),
  retriable(88, 'UNSTABLE_OFFSET_COMMIT'),
  retriable(89, 'THROTTLING_QUOTA_EXCEEDED'),
  abortable(90, 'PRODUCER_FENCED', 'TRANSACTION_FENCED'),
  notSent(91, 'RESOURCE_NOT_FOUND'),
  notSent(92, 'DUPLICATE_RESOURCE'),
  notSent(93, 'UNACCEPTABLE_CREDENTIAL'),
  notSent(94, 'INCONSISTENT_VOTER_SET'),
  notSent(95, 'INVALID_UPDATE_VERSION'),
  notSent(96, 'FEATURE_UPDATE_FAILED'),
  notSent(97, 'PRINCIPAL_DESERIALIZATION_FAILURE'),
  notSent(98, 'SNAPSHOT_NOT_FOUND'),
  notSent(99, 'POSITION_OUT_OF_RANGE'),
  retriable(100, 'UNKNOWN_TOPIC_ID'),
  notSent(101, 'DUPLICATE_BROKER_REGISTRATION'),
  notSent(102, 'BROKER_ID_NOT_REGISTERED'),
  retriable(103, 'INCONSISTENT_TOPIC_ID'),
  notSent(104, 'INCONSISTENT_CLUSTER_ID'),
  fatal(105, 'TRANSACTIONAL_ID_NOT_FOUND', 'INVALID_TRANSACTION'),
  retriable(106, 'FETCH_SESSION_TOPIC_ID_ERROR'),
  notSent(107, 'INELIGIBLE_REPLICA'),
  notSent(108, 'NEW_LEADER_ELECTED'),
  fatal(109, 'OFFSET_MOVED_TO_TIERED_STORAGE'),
  notSent(110, 'FENCED_MEMBER_EPOCH'),
  notSent(111, 'UNRELEASED_INSTANCE_ID'),
  notSent(112, 'UNSUPPORTED_ASSIGNOR'),
  notSent(113, 'STALE_MEMBER_EPOCH'),
  notSent(114, 'MISMATCHED_ENDPOINT_TYPE'),
  notSent(115, 'UNSUPPORTED_ENDPOINT_TYPE'),
  notSent(116, 'UNKNOWN_CONTROLLER_ID'),
  notSent(117, 'UNKNOWN_SUBSCRIPTION_ID'),
  notSent(118, 'TELEMETRY_TOO_LARGE'),
  notSent(119, 'INVALID_REGISTRATION'),
  abortable(120, 'TRANSACTION_ABORTABLE'),
  notSent(121, 'INVALID_RECORD_STATE'),
  retriable(122, 'SHARE_SESSION_NOT_FOUND', NOT_SENT),
  retriable(123, 'INVALID_SHARE_SESSION_EPOCH', NOT_SENT),
  notSent(124, 'FENCED_STATE_EPOCH'),
  notSent(125, 'INVALID_VOTER_KEY'),
  notSent(126, 'DUPLICATE_VOTER'),
  notSent(127, 'VOTER_NOT_FOUND'),
  notSent(128, 'INVALID_REGULAR_EXPRESSION'),
  notSent(129, 'REBOOTSTRAP_REQUIRED'),
  notSent(130, 'STREAMS_INVALID_TOPOLOGY'),
  notSent(131, 'STREAMS_INVALID_TOPOLOGY_EPOCH'),
  notSent(132, 'STREAMS_TOPOLOGY_FENCED'),
  retriable(133, 'SHARE_SESSION_LIMIT_REACHED', NOT_SENT),
]

const BY_NUMBER: ReadonlyMap<number, KafkaErrorEntry> = new Map(
  KAFKA_ERROR_TABLE.map((entry) => [entry.number, entry]),
)

/** The entry of an error number. A number of a later Kafka is fatal and named by its number. */
export function kafkaErrorEntry(number: number): KafkaErrorEntry {
  return (
    BY_NUMBER.get(number) ??
    fatal(number, `error ${number}, which this release of Weir has no name for`)
  )
}
