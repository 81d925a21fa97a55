import { ByteReader } from '../../core/byte-reader.ts'
import { ByteWriter } from '../../core/byte-writer.ts'
import { WeirError } from '../../core/errors.ts'
import type { TransactionIdentity } from './kafka-identity.ts'

export const KAFKA_COMMITTABLE_VERSION = 1

/**
 * A prepared transaction as a checkpoint stores it, little-endian; the checkpoint's files carry the
 * checksum:
 *
 *      0             2              10          12
 *      +-------------+--------------+-----------+---------------------------------+
 *      | version u16 | producer id  | epoch u16 | transactional id                |
 *      | = 1         | i64          |           | (varuint length, UTF-8)         |
 *      +-------------+--------------+-----------+---------------------------------+
 */
export function encodeKafkaCommittable(identity: TransactionIdentity): Uint8Array {
  const writer = new ByteWriter(64)
  writer.uint16(KAFKA_COMMITTABLE_VERSION)
  writer.int53(identity.producerId)
  writer.uint16(identity.epoch)
  writer.text(identity.transactionalId)
  return writer.toBytes()
}

/** Decodes a committable. Throws MALFORMED_DATA, UNSUPPORTED_VERSION. */
export function decodeKafkaCommittable(bytes: Uint8Array): TransactionIdentity {
  const reader = new ByteReader(bytes)
  const version = reader.uint16()
  if (version !== KAFKA_COMMITTABLE_VERSION) {
    throw new WeirError('UNSUPPORTED_VERSION', `Kafka committable ${version}; this build reads 1`)
  }
  const producerId = reader.int53()
  const epoch = reader.uint16()
  return { producerId, epoch, transactionalId: reader.text() }
}
