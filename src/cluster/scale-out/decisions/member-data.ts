import type { ByteReader } from '../../../core/byte-reader.ts'
import type { ByteWriter } from '../../../core/byte-writer.ts'
import { requireArgument } from '../../../core/errors.ts'
import { MAX_MAX_PARALLELISM } from '../../../core/key-group.ts'
import { encodeFrame, type FormatRange, malformed, openFrame, readBody } from './frame.ts'
import { readEntries, readPartitions, writeEntries, writePartitions } from './partition-list.ts'

/*
 * What a process says of itself when it joins the group: the user data of JoinGroup. Frame (`frame.ts`) of
 * magic WSOM; body of version 1, texts and lists preceded by their length as varuint:
 *
 *   +--------+----------------+---------+-------------+-----------+---------+------------+----------------+
 *   | joinId | processVersion | address | fingerprint | storageId | cluster | partitions | maxParallelism |
 *   +--------+----------------+---------+-------------+-----------+---------+------------+----------------+
 *     uint32   text             text      16 bytes      16 bytes    text      varuint      varuint
 *   +----------+-------+----------------+-------+---------------------+----------------------------+
 *   | capacity | flags | generation + 1 | owned | standbys with lag   | refused with retryAfterMs  |
 *   +----------+-------+----------------+-------+---------------------+----------------------------+
 *     varuint    uint8   varuint          lists of partitions, see `partition-list.ts`
 *
 * Bit 0 of the flags: draining. A generation of 0 says that the process owns nothing.
 */

const MAGIC = 'WSOM'
const DRAINING = 1
const ID_BYTES = 16
/** Longest text of a member, in bytes: the group's record holds all members. */
const LONGEST_TEXT = 255

/** What must be equal in all processes of a job. */
export interface JobIdentity {
  /** Fingerprint of graph and formats of state, 32 hex digits. */
  readonly fingerprint: string
  /** Id found in the checkpoint folder, 32 hex digits: equal where two processes see the same storage. */
  readonly storageId: string
  /** Id of the Kafka cluster whose offsets count. */
  readonly cluster: string
  /** Number of job partitions, `scale-out.partitions`. */
  readonly partitions: number
  readonly maxParallelism: number
}

/** Partition that a process follows without owning it. */
export interface StandbyLag {
  readonly partition: number
  /** Bytes of the newest checkpoint that it has not read yet; 4 GiB stands for all above. */
  readonly lag: number
}

/** Partition that a process could not restore. */
export interface PartitionRefusal {
  readonly partition: number
  /** Time until it may get the partition again, in ms from the sending of the data. */
  readonly retryAfterMs: number
}

/** Facts about a process, by itself. */
export interface MemberData {
  /** Versions of the group's formats that it reads. */
  readonly understands: FormatRange
  /**
   * Random number of this JoinGroup, 0 <= id < 2^32. A coordinator begins no round for a member that says what it
   * said before, so each says something new; the assignment that answers it names it, see `judge-assignment.ts`.
   */
  readonly joinId: number
  /** Version of its build, for people. */
  readonly processVersion: string
  /** Where others reach it, `application.server` as host:port; empty when they do not. */
  readonly address: string
  readonly job: JobIdentity
  /** Share of the partitions that it takes, relative to the others': its slots, at least 1. */
  readonly capacity: number
  /** Whether it hands over everything because it is about to leave. */
  readonly isDraining: boolean
  /** Generation under which it got what it owns; undefined when it owns nothing. */
  readonly generation: number | undefined
  /** Partitions that run here or that have not been released yet. */
  readonly owned: readonly number[]
  readonly standbys: readonly StandbyLag[]
  readonly refused: readonly PartitionRefusal[]
}

/** The user data of a member. Throws INVALID_ARGUMENT for a text above 255 bytes, an id that is not 32 hex digits, or an address that is not ASCII. */
export function encodeMemberData(member: MemberData): Uint8Array {
  requireArgument(
    isAddress(member.address),
    `application.server is host:port in ASCII, not "${member.address}"`,
  )
  const head = {
    magic: MAGIC,
    version: member.understands.highest,
    understands: member.understands,
  }
  return encodeFrame(head, (out) => writeMember(out, member))
}

/**
 * Reads the user data of a member, strictly. Throws MALFORMED_DATA, CHECKSUM_MISMATCH or UNSUPPORTED_VERSION.
 */
export function decodeMemberData(bytes: Uint8Array): MemberData {
  const frame = openFrame(bytes, MAGIC)
  return readBody(frame, (reader) => readMember(reader, frame.understands))
}

function writeMember(out: ByteWriter, member: MemberData): void {
  const { job } = member
  out.uint32(member.joinId)
  writeText(out, member.processVersion)
  writeText(out, member.address)
  writeId(out, job.fingerprint)
  writeId(out, job.storageId)
  writeText(out, job.cluster)
  out.varuint(job.partitions)
  out.varuint(job.maxParallelism)
  out.varuint(member.capacity)
  out.uint8(member.isDraining ? DRAINING : 0)
  out.varuint(member.generation === undefined ? 0 : member.generation + 1)
  writePartitions(out, member.owned)
  writeEntries(
    out,
    member.standbys.map(({ partition, lag }) => [partition, lag]),
  )
  writeEntries(
    out,
    member.refused.map(({ partition, retryAfterMs }) => [partition, retryAfterMs]),
  )
}

function readMember(reader: ByteReader, understands: FormatRange): MemberData {
  const joinId = reader.uint32()
  const processVersion = reader.text()
  const address = reader.text()
  if (!isAddress(address)) throw malformed('an address has other letters than ASCII')
  const fingerprint = readId(reader)
  const storageId = readId(reader)
  const cluster = reader.text()
  const partitions = reader.varuint()
  const maxParallelism = reader.varuint()
  if (partitions < 1 || partitions > maxParallelism || maxParallelism > MAX_MAX_PARALLELISM) {
    throw malformed(`${partitions} partitions of ${maxParallelism} key groups`)
  }
  return {
    understands,
    joinId,
    processVersion,
    address,
    job: { fingerprint, storageId, cluster, partitions, maxParallelism },
    ...readTasks(reader, partitions),
  }
}

type Tasks = Omit<MemberData, 'understands' | 'joinId' | 'processVersion' | 'address' | 'job'>

function readTasks(reader: ByteReader, partitions: number): Tasks {
  const capacity = reader.varuint()
  if (capacity < 1) throw malformed('a member has capacity 0')
  const flags = reader.uint8()
  const claimed = reader.varuint()
  const owned = readPartitions(reader, partitions)
  if (claimed === 0 && owned.length > 0) throw malformed('a member owns without a generation')
  return {
    capacity,
    isDraining: (flags & DRAINING) !== 0,
    generation: claimed === 0 ? undefined : claimed - 1,
    owned,
    standbys: readEntries(reader, partitions, (partition) => ({
      partition,
      lag: reader.varuint(),
    })),
    refused: readEntries(reader, partitions, (partition) => ({
      partition,
      retryAfterMs: reader.varuint(),
    })),
  }
}

/** Addresses are compressed letter by letter, so each letter is one byte. */
function isAddress(text: string): boolean {
  return /^[!-~]*$/.test(text)
}

function writeText(out: ByteWriter, text: string): void {
  requireArgument(
    Buffer.byteLength(text) <= LONGEST_TEXT,
    `"${text.slice(0, 40)}..." has more than ${LONGEST_TEXT} bytes; shorten it`,
  )
  out.text(text)
}

function writeId(out: ByteWriter, id: string): void {
  requireArgument(/^[0-9a-f]{32}$/.test(id), `an id has 32 hex digits, not "${id}"`)
  out.raw(Buffer.from(id, 'hex'))
}

function readId(reader: ByteReader): string {
  return Buffer.from(reader.raw(ID_BYTES)).toString('hex')
}
