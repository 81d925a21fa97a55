/** A right in the words of Kafka's access control lists: an operation on a resource. */
export interface AccessRight {
  readonly operation: Operation
  readonly resource: 'cluster' | 'group' | 'topic' | 'transactional-id'
  readonly name: string
}

type Operation =
  | 'Create'
  | 'Delete'
  | 'Describe'
  | 'DescribeConfigs'
  | 'IdempotentWrite'
  | 'Read'
  | 'Write'

/** A request of a user, for the message of its error. */
export interface KafkaRequest {
  /** The operation in words. */
  readonly doing: string
  /** The rights that the broker may ask for. */
  readonly needs: readonly AccessRight[]
  /** Kafka's name of the user, `User:ada`; undefined if a certificate has it. */
  readonly principal: string | undefined
}

/** Resources by the number of the error for a user without a right to them. */
const DENIED_RESOURCES: ReadonlyMap<number, AccessRight['resource']> = new Map([
  [29, 'topic'],
  [30, 'group'],
  [31, 'cluster'],
  [53, 'transactional-id'],
])

/** Operations that another right includes, which the user may need anyway. */
const INCLUDED_IN: Partial<Record<Operation, string>> = {
  Describe: ' (READ and WRITE include it)',
  IdempotentWrite: ' (WRITE on any topic includes it)',
}

/** What the transactional ids of Weir begin with by default. */
const TRANSACTIONAL_IDS = 'weir/'

/** A request of the user of a client. */
export function requestOf(
  { principal }: Pick<KafkaRequest, 'principal'>,
  doing: string,
  ...needs: readonly AccessRight[]
): KafkaRequest {
  return { doing, needs, principal }
}

/** A right to a topic. */
export function topicRight(operation: Operation, name: string): AccessRight {
  return { operation, resource: 'topic', name }
}

/** The right to use a group or a transactional id, by the kind of its coordinator. */
export function coordinatorRight(kind: 'group' | 'transaction', name: string): AccessRight {
  if (kind === 'group') return { operation: 'Read', resource: 'group', name }
  return { operation: 'Write', resource: 'transactional-id', name }
}

/** A right to the cluster. */
export function clusterRight(operation: Operation): AccessRight {
  return { operation, resource: 'cluster', name: 'kafka-cluster' }
}

/** The right of a request that the user lacks, by the number of the broker's error. */
export function missingRight(error: number, { needs }: KafkaRequest): AccessRight | undefined {
  const resource = DENIED_RESOURCES.get(error)
  return resource === undefined ? undefined : needs.find((right) => right.resource === resource)
}

/** What a user lacks, with the command of Kafka that grants it. */
export function missingRightText(
  { operation, resource, name }: AccessRight,
  principal: string | undefined,
): string {
  const on = resource === 'cluster' ? 'the cluster' : `${resource.replace('-', ' ')} "${name}"`
  const right = operation.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase()
  const included = INCLUDED_IN[operation] ?? ''
  const grant = `--allow-principal ${word(principal ?? 'User:NAME')} --operation ${operation}`
  return `${principal ?? 'this user'} needs ${right} on ${on}${included}; let an administrator run: kafka-acls --add ${grant} ${resourceFlags(resource, name)}`
}

/** The flags of `kafka-acls` for a resource. A job has many transactional ids with one beginning. */
function resourceFlags(resource: AccessRight['resource'], name: string): string {
  if (resource === 'cluster') return '--cluster'
  if (resource === 'transactional-id' && name.startsWith(TRANSACTIONAL_IDS)) {
    return `--transactional-id ${TRANSACTIONAL_IDS} --resource-pattern-type prefixed`
  }
  return `--${resource} ${word(name)}`
}

/** A word of a command line, in quotes where it needs them. */
function word(text: string): string {
  return /^[\w.:/-]+$/.test(text) ? text : `'${text}'`
}
