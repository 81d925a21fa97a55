import type { Refusal, RefusalReason } from './assignment-data.ts'
import type { JobIdentity, MemberData } from './member-data.ts'

/** Member whose data could be read. */
export interface NamedMember {
  /** Lasting name: `group.instance.id`, or else the member id. */
  readonly name: string
  readonly data: MemberData
}

/** Who takes part in the job. */
export interface Fitting<M extends NamedMember> {
  readonly fit: readonly M[]
  readonly refused: readonly { readonly member: M; readonly refusal: Refusal }[]
}

/** Fields of the identity in the order in which a difference is named. */
const FIELDS: readonly {
  readonly field: keyof JobIdentity
  readonly reason: RefusalReason
  /** What to do. */
  readonly advice: string
}[] = [
  {
    field: 'cluster',
    reason: 'cluster',
    advice: 'start it with the brokers of the running processes',
  },
  {
    field: 'storageId',
    reason: 'storage',
    advice: 'point execution.checkpointing.dir of all processes to one folder that all reach',
  },
  {
    field: 'maxParallelism',
    reason: 'max-parallelism',
    advice: 'start it with the same pipeline.max-parallelism',
  },
  {
    field: 'partitions',
    reason: 'partitions',
    advice: 'start it with the same scale-out.partitions; a restore from a savepoint changes it',
  },
  {
    field: 'fingerprint',
    reason: 'job',
    advice: 'start the same job, or give this one another application.id',
  },
]

const WORDS: Readonly<Record<keyof JobIdentity, string>> = {
  cluster: 'Kafka cluster',
  storageId: 'checkpoint storage',
  maxParallelism: 'pipeline.max-parallelism',
  partitions: 'scale-out.partitions',
  fingerprint: 'fingerprint of the job',
}

/**
 * Divides members into those that run the same job in the same way and those that stay out. The identity of
 * the members that own most partitions counts, so a newcomer is refused and never those that run; while none
 * owns any, that of most members, then that of the first name. A name alone decides between two halves of a
 * first start, and the refused half says what differs.
 */
export function fittingMembers<M extends NamedMember>(members: readonly M[]): Fitting<M> {
  const identity = runningIdentity(members)
  const fit: M[] = []
  const refused: { member: M; refusal: Refusal }[] = []
  for (const member of members) {
    const refusal = refusalOf(member.data.job, identity!)
    if (refusal === undefined) fit.push(member)
    else refused.push({ member, refusal })
  }
  return { fit, refused }
}

function runningIdentity(members: readonly NamedMember[]): JobIdentity | undefined {
  const votes = new Map<string, Votes>()
  for (const { name, data } of members) {
    const key = FIELDS.map(({ field }) => data.job[field]).join(' ')
    const vote = votes.get(key) ?? { identity: data.job, owned: 0, members: 0, first: name }
    votes.set(key, {
      identity: vote.identity,
      owned: vote.owned + data.owned.length,
      members: vote.members + 1,
      first: [vote.first, name].sort()[0]!,
    })
  }
  return [...votes.values()].sort(byWeight)[0]?.identity
}

interface Votes {
  readonly identity: JobIdentity
  readonly owned: number
  readonly members: number
  readonly first: string
}

function byWeight(a: Votes, b: Votes): number {
  return b.owned - a.owned || b.members - a.members || (a.first < b.first ? -1 : 1)
}

function refusalOf(own: JobIdentity, running: JobIdentity): Refusal | undefined {
  const difference = FIELDS.find(({ field }) => own[field] !== running[field])
  if (difference === undefined) return undefined
  const { field, reason, advice } = difference
  const text = `${WORDS[field]} is ${own[field]} here and ${running[field]} in the running processes: ${advice}`
  return { reason, text }
}
