import { isWeirError, WeirError } from '../../../core/errors.ts'
import { assignPartitions, type RoundPlan } from './assign-partitions.ts'
import {
  encodeAssignment,
  type OwnerMap,
  type Refusal,
  refusedAssignment,
} from './assignment-data.ts'
import { fittingMembers, type NamedMember } from './fit.ts'
import { commonVersion, type FormatRange, GROUP_FORMATS } from './frame.ts'
import { identityChecksum } from './judge-assignment.ts'
import { decodeMemberData, type MemberData } from './member-data.ts'
import { ascending } from './partition-list.ts'
import { type AssignRules, DEFAULT_ASSIGN_RULES } from './planning-board.ts'

/** Member as the leader sees it in the answer to its JoinGroup. */
export interface JoinedMember {
  readonly memberId: string
  readonly groupInstanceId?: string | undefined
  readonly userData: Uint8Array
}

/** What a member gets in SyncGroup. */
export interface MemberShare {
  /** Partitions that it owns, those that it releases too, ascending. */
  readonly active: readonly number[]
  /** Its assignment, `assignment-data.ts`. */
  readonly userData: Uint8Array
}

/** Options of a round. */
export interface RoundOptions {
  /** Generation of the group that the round makes; undefined where it is not known. */
  readonly generation?: number | undefined
  /** Rules of the leader. @default DEFAULT_ASSIGN_RULES */
  readonly rules?: AssignRules
}

interface Member extends NamedMember {
  readonly memberId: string
}

/**
 * The share of each member of a round, by member id, as the leader computes it: pure, and the same in whichever
 * process. A member that does not fit the running ones, or whose data cannot be read, gets no partition and
 * the reason. Throws UNSUPPORTED_VERSION when this process can lead no other one: it must leave, and another one
 * leads.
 */
export function planRound(
  joined: readonly JoinedMember[],
  options: RoundOptions = {},
): Map<string, MemberShare> {
  const { members, unreadable } = readMembers(joined)
  const shares = new Map<string, MemberShare>()
  const fitting = fittingMembers(members)
  const { fit, others, version } = readersOf(fitting.fit, unreadable)
  const refused = [...fitting.refused, ...others]
  const { generation: epoch } = options
  const refuse = (memberId: string, refused: Refused): void => {
    const { joinId, refusal, formats } = refused
    const assignment = refusedAssignment({ joinId, epoch }, refusal)
    const readable = commonVersion([formats]) ?? GROUP_FORMATS.highest
    const userData = encodeAssignment(assignment, { version: readable, understands: GROUP_FORMATS })
    shares.set(memberId, { active: [], userData })
  }
  for (const { memberId, refusal } of unreadable) {
    refuse(memberId, { joinId: 0, refusal, formats: GROUP_FORMATS })
  }
  for (const { member, refusal } of refused) {
    const { joinId, understands } = member.data
    refuse(member.memberId, { joinId, refusal, formats: understands })
  }
  if (fit.length === 0) return shares
  const outsiders = refused.map(({ member }) => member.data)
  for (const [memberId, share] of sharesOf(fit, { outsiders, version, options })) {
    shares.set(memberId, share)
  }
  return shares
}

interface Refused {
  readonly joinId: number
  readonly refusal: Refusal
  readonly formats: FormatRange
}

function sharesOf(
  fit: readonly Member[],
  round: {
    readonly outsiders: readonly MemberData[]
    readonly version: number
    readonly options: RoundOptions
  },
): Map<string, MemberShare> {
  const { outsiders, version, options } = round
  const members = fit.map(({ data }) => data)
  const { job } = members[0]!
  const { partitions } = job
  const rules = options.rules ?? DEFAULT_ASSIGN_RULES
  const plan = assignPartitions({ members, outsiders, partitions, rules })
  const common = { epoch: options.generation, refusal: undefined, map: mapOf(members, plan) }
  const identity = identityChecksum(job)
  return new Map(
    fit.map(({ memberId, data: { joinId } }, self) => {
      const tasks = plan.tasks[self]!
      const assignment = { ...common, joinId, identity, ...tasks, self }
      const userData = encodeAssignment(assignment, { version, understands: GROUP_FORMATS })
      return [memberId, { active: [...tasks.active, ...tasks.release].sort(ascending), userData }]
    }),
  )
}

function mapOf(members: readonly MemberData[], plan: RoundPlan): OwnerMap {
  const addresses = members.map(({ address }) => address)
  return { addresses, owners: plan.owners, standbys: plan.standbys }
}

interface Unreadable {
  readonly memberId: string
  readonly refusal: Refusal
}

function readMembers(joined: readonly JoinedMember[]): {
  members: Member[]
  unreadable: Unreadable[]
} {
  const members: Member[] = []
  const unreadable: Unreadable[] = []
  for (const { memberId, groupInstanceId, userData } of joined) {
    try {
      const data = decodeMemberData(userData)
      members.push({ memberId, name: groupInstanceId ?? memberId, data })
    } catch (error) {
      unreadable.push({ memberId, refusal: refusalFor(error) })
    }
  }
  return { members: members.sort((a, b) => (a.name < b.name ? -1 : 1)), unreadable }
}

function refusalFor(error: unknown): Refusal {
  if (!isWeirError(error)) throw error
  const reason = error.code === 'UNSUPPORTED_VERSION' ? 'format' : 'foreign-data'
  const text = `the leader could not read what this member says of itself: ${error.message}`
  return { reason, text: text.slice(0, 250) }
}

/** Members that read one version in common. */
interface Readers {
  readonly fit: readonly Member[]
  readonly others: readonly { readonly member: Member; readonly refusal: Refusal }[]
  readonly version: number
}

/**
 * Divides members into those that read a version in common with this process, those that own most first, and the
 * others. So a newcomer of formats that the running ones do not read stays out.
 */
function readersOf(members: readonly Member[], unreadable: readonly Unreadable[]): Readers {
  const fit = new Set<Member>()
  for (const member of [...members].sort((a, b) => b.data.owned.length - a.data.owned.length)) {
    const ranges = [...fit, member].map(({ data }) => data.understands)
    if (commonVersion(ranges) !== undefined) fit.add(member)
  }
  const others = members.filter((member) => !fit.has(member))
  const isRunning = [...fit].some(({ data }) => data.owned.length > 0)
  const mayRun =
    others.some(({ data }) => data.owned.length > 0) ||
    unreadable.some(({ refusal }) => refusal.reason === 'format')
  if (mayRun && !isRunning) throw leadsNone()
  return {
    fit: members.filter((member) => fit.has(member)),
    others: others.map((member) => ({ member, refusal: formatRefusal(member.data.understands) })),
    version: commonVersion([...fit].map(({ data }) => data.understands)) ?? GROUP_FORMATS.highest,
  }
}

function formatRefusal({ lowest, highest }: FormatRange): Refusal {
  const text = `it reads versions ${lowest} to ${highest} of the group's formats, which the running processes do not have in common: upgrade one version at a time`
  return { reason: 'format', text }
}

function leadsNone(): WeirError {
  return new WeirError(
    'UNSUPPORTED_VERSION',
    'this process became the leader of a group whose formats it does not know; it leaves, and another one leads. Upgrade one version at a time',
  )
}
