import type { ByteReader } from '../../../core/byte-reader.ts'
import type { ByteWriter } from '../../../core/byte-writer.ts'
import { MAX_MAX_PARALLELISM } from '../../../core/key-group.ts'
import { readAddresses, writeAddresses } from './address-table.ts'
import { encodeFrame, type FormatRange, malformed, openFrame, readBody } from './frame.ts'
import { readPartitions, writePartitions } from './partition-list.ts'

/*
 * What the leader gives to a process: the user data of SyncGroup. Frame (`frame.ts`) of magic WSOA; body of
 * version 1:
 *
 *   +--------+----------+-----------+---------+------------+--------+---------+---------+--------+
 *   | joinId | identity | epoch + 1 | refusal | partitions | active | release | standby | warmUp |
 *   +--------+----------+-----------+---------+------------+--------+---------+---------+--------+
 *     uint32   uint32     varuint     see       varuint      lists of partitions, see `partition-list.ts`
 *                                     below
 *   +----------+------------------+----------+-------------------------------+
 *   | self + 1 | addresses        | owners   | layers, standbys of each layer |
 *   +----------+------------------+----------+-------------------------------+
 *     varuint    `address-table`    one varuint for each partition, place of an address + 1, 0 for none
 *
 * Refusal: uint8, 0 for none, else the place of the reason in `REFUSAL_REASONS` + 1 and a text. A refused
 * process gets 0 partitions and no map. The map of owners is the same in all members of one epoch.
 */

const MAGIC = 'WSOA'
/** Most layers of standbys that a map may have. */
const MOST_LAYERS = 16

/** Reasons for which a process takes no part in the job, in the order of their codes. */
export const REFUSAL_REASONS = [
  /** Its data could not be read: another program joined the group, or the data are damaged. */
  'foreign-data',
  /** No version of the group's formats is read by it and by the running processes. */
  'format',
  /** Another job: graph or formats of state differ. */
  'job',
  /** Another number of job partitions. */
  'partitions',
  'max-parallelism',
  /** Its checkpoint folder is not the same storage. */
  'storage',
  /** Its offsets count in another Kafka cluster. */
  'cluster',
] as const

/** Reason for which a process takes no part in the job. */
export type RefusalReason = (typeof REFUSAL_REASONS)[number]

/** Refusal of a process. */
export interface Refusal {
  readonly reason: RefusalReason
  /** One sentence: what differs, and what to do. */
  readonly text: string
}

/** Owners and standbys of all partitions in one epoch, for routing. */
export interface OwnerMap {
  /** Address of each member; empty for one that others do not reach. */
  readonly addresses: readonly string[]
  /** Place of the owner's address, for each partition; -1 while it has none. */
  readonly owners: readonly number[]
  /** Places of the standbys' addresses, for each partition. */
  readonly standbys: readonly (readonly number[])[]
}

/** Tasks of one process in one generation. A partition that it runs and that is nowhere in it is not its own: it stops without a checkpoint. */
export interface Assignment {
  /** Id of the JoinGroup that it answers. */
  readonly joinId: number
  /** Checksum of the identity of the job for which it counts, `identityChecksum`. */
  readonly identity: number
  /** Generation of the group in which it counts; undefined when the leader did not know it. */
  readonly epoch: number | undefined
  readonly refusal: Refusal | undefined
  /** Partitions that it owns. */
  readonly active: readonly number[]
  /** Partitions that it owns until it has written a last checkpoint of them; it then joins without them. */
  readonly release: readonly number[]
  /** Partitions that it follows, `num.standby.replicas`. */
  readonly standby: readonly number[]
  /** Partitions that it follows because it gets them once it is near their end. */
  readonly warmUp: readonly number[]
  /** Its place in the map; undefined when the map is not for it. */
  readonly self: number | undefined
  readonly map: OwnerMap
}

/** Map without partitions. */
export const NO_MAP: OwnerMap = { addresses: [], owners: [], standbys: [] }

/** Head of an assignment: which JoinGroup it answers, and in which generation it counts. */
export type AssignmentHead = Pick<Assignment, 'joinId' | 'epoch'>

/** Assignment of a process that takes no part. */
export function refusedAssignment(head: AssignmentHead, refusal: Refusal): Assignment {
  const none = { active: [], release: [], standby: [], warmUp: [] }
  return { ...head, identity: 0, refusal, ...none, self: undefined, map: NO_MAP }
}

/** Versions of an assignment that is written. */
export interface AssignmentVersion {
  /** Version in which every member reads it. */
  readonly version: number
  readonly understands: FormatRange
}

/** The user data of an assignment. */
export function encodeAssignment(assignment: Assignment, version: AssignmentVersion): Uint8Array {
  return encodeFrame({ magic: MAGIC, ...version }, (out) => writeAssignment(out, assignment))
}

/**
 * Reads the user data of an assignment, strictly. Throws MALFORMED_DATA, CHECKSUM_MISMATCH or UNSUPPORTED_VERSION.
 */
export function decodeAssignment(bytes: Uint8Array): Assignment {
  return readBody(openFrame(bytes, MAGIC), readAssignment)
}

function writeAssignment(out: ByteWriter, assignment: Assignment): void {
  const { epoch, map, self } = assignment
  out.uint32(assignment.joinId)
  out.uint32(assignment.identity)
  out.varuint(epoch === undefined ? 0 : epoch + 1)
  writeRefusal(out, assignment.refusal)
  out.varuint(map.owners.length)
  for (const list of [assignment.active, assignment.release]) writePartitions(out, list)
  for (const list of [assignment.standby, assignment.warmUp]) writePartitions(out, list)
  out.varuint(self === undefined ? 0 : self + 1)
  writeAddresses(out, map.addresses)
  for (const owner of map.owners) out.varuint(owner + 1)
  const layers = Math.max(0, ...map.standbys.map((standbys) => standbys.length))
  out.varuint(layers)
  for (let layer = 0; layer < layers; layer++) {
    for (const standbys of map.standbys) out.varuint((standbys[layer] ?? -1) + 1)
  }
}

function readAssignment(reader: ByteReader): Assignment {
  const joinId = reader.uint32()
  const identity = reader.uint32()
  const epoch = less1(reader.varuint())
  const refusal = readRefusal(reader)
  const partitions = reader.varuint()
  if (partitions > MAX_MAX_PARALLELISM) throw malformed(`a map of ${partitions} partitions`)
  const active = readPartitions(reader, partitions)
  const release = readPartitions(reader, partitions)
  const standby = readPartitions(reader, partitions)
  const warmUp = readPartitions(reader, partitions)
  const self = less1(reader.varuint())
  const addresses = readAddresses(reader)
  if (self !== undefined && self >= addresses.length) {
    throw malformed(`place ${self} of ${addresses.length} addresses`)
  }
  const owners = readPlaces(reader, partitions, addresses.length)
  const standbys = readStandbys(reader, partitions, addresses.length)
  const map = { addresses, owners, standbys }
  return { joinId, identity, epoch, refusal, active, release, standby, warmUp, self, map }
}

function readStandbys(reader: ByteReader, partitions: number, addresses: number): number[][] {
  const layers = reader.varuint()
  if (layers > MOST_LAYERS) throw malformed(`${layers} layers of standbys`)
  const standbys: number[][] = Array.from({ length: partitions }, () => [])
  for (let layer = 0; layer < layers; layer++) {
    const places = readPlaces(reader, partitions, addresses)
    for (const [partition, place] of places.entries()) {
      if (place >= 0) standbys[partition]!.push(place)
    }
  }
  return standbys
}

function readPlaces(reader: ByteReader, partitions: number, addresses: number): number[] {
  const places: number[] = []
  for (let n = 0; n < partitions; n++) {
    const place = reader.varuint() - 1
    if (place >= addresses) throw malformed(`place ${place} of ${addresses} addresses`)
    places.push(place)
  }
  return places
}

function writeRefusal(out: ByteWriter, refusal: Refusal | undefined): void {
  out.uint8(refusal === undefined ? 0 : REFUSAL_REASONS.indexOf(refusal.reason) + 1)
  if (refusal !== undefined) out.text(refusal.text)
}

function readRefusal(reader: ByteReader): Refusal | undefined {
  const code = reader.uint8()
  if (code === 0) return undefined
  const reason = REFUSAL_REASONS[code - 1]
  if (reason === undefined) throw malformed(`a refusal has code ${code}`)
  return { reason, text: reader.text() }
}

function less1(number: number): number | undefined {
  return number === 0 ? undefined : number - 1
}
