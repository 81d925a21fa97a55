import { ByteReader } from '../../core/byte-reader.ts'
import { ByteWriter } from '../../core/byte-writer.ts'
import { WeirError } from '../../core/errors.ts'
import type { ProducerIdentity } from './producer-identity.ts'

/** Version of the format that is written. */
export const COMMITTABLE_VERSION = 2
/** Version without a witness, which is still read. */
const WITHOUT_WITNESS_VERSION = 1

/** Position of the first acknowledged batch of a transaction. */
export interface TransactionWitness {
  readonly topic: string
  readonly partition: number
  readonly offset: number
}

/** A prepared transaction. */
export interface Committable {
  readonly identity: ProducerIdentity
  /** Undefined when no position is known. */
  readonly witness: TransactionWitness | undefined
}

/**
 * Encodes a prepared transaction for a checkpoint, little-endian. The checkpoint's files carry the
 * checksum.
 *
 *      0             2              10          12
 *      +-------------+--------------+-----------+---------------------------------+
 *      | version u16 | producer id  | epoch u16 | transactional id                |
 *      | = 2         | i64          |           | (varuint length, UTF-8)         |
 *      +-------------+--------------+-----------+---------------------------------+
 *      | partition i32 (-1: nothing follows) | offset i64 | topic (varuint, UTF-8) |
 *      +-------------------------------------+------------+-------------------------+
 *
 * The second line is the witness. It is missing in version 1.
 */
export function encodeCommittable({ identity, witness }: Committable): Uint8Array {
  const writer = new ByteWriter(96)
  writer.uint16(COMMITTABLE_VERSION)
  writer.int53(identity.producerId)
  writer.uint16(identity.epoch)
  writer.text(identity.transactionalId)
  writer.int32(witness?.partition ?? -1)
  if (witness !== undefined) {
    writer.int53(witness.offset)
    writer.text(witness.topic)
  }
  return writer.toBytes()
}

/** Decodes a committable. Throws MALFORMED_DATA, UNSUPPORTED_VERSION. */
export function decodeCommittable(bytes: Uint8Array): Committable {
  const reader = new ByteReader(bytes)
  const version = reader.uint16()
  if (version !== COMMITTABLE_VERSION && version !== WITHOUT_WITNESS_VERSION) {
    const message = `committable ${version}; this build reads 1 and 2`
    throw new WeirError('UNSUPPORTED_VERSION', message)
  }
  const producerId = reader.int53()
  const epoch = reader.uint16()
  const identity = { producerId, epoch, transactionalId: reader.text() }
  const partition = version === WITHOUT_WITNESS_VERSION ? -1 : reader.int32()
  if (partition < 0) return { identity, witness: undefined }
  const offset = reader.int53()
  return { identity, witness: { partition, offset, topic: reader.text() } }
}
