import { once } from 'node:events'
import { EmbeddedLog } from '../../../src/connectors/log/embedded-log.ts'
import { isWeirError } from '../../../src/core/errors.ts'

/* Main module of a process that writes to a log, beside its owner or as the owner. */

const [directory = '', mode = ''] = process.argv.slice(2)
const encoder = new TextEncoder()

async function write(log: EmbeddedLog, ...values: readonly string[]): Promise<void> {
  const producer = log.producer('t')
  for (const value of values) producer.sendRecord(null, encoder.encode(value), 1, 0, [])
  await producer.sync()
}

const log = await EmbeddedLog.open(directory)
if (mode === 'owner') {
  process.send?.('open')
  await once(process, 'message')
} else if (mode === 'records') {
  await log.createTopic('t', { partitions: 1 })
  await write(log, '0', '1', '2')
} else if (mode === 'transaction') {
  const producer = log.producer('t')
  await producer.begin('other')
  producer.sendRecord(null, encoder.encode('together'), 1, 0, [])
  await producer.commit()
} else {
  await log.createTopic('t', { partitions: 1 })
  await write(log, 'before')
  process.send?.('written')
  await once(process, 'message')
  const failure = await write(log, 'lost').catch((error: unknown) => error)
  const own = await EmbeddedLog.open(directory)
  await write(own, 'after')
  const code = isWeirError(failure) ? failure.code : String(failure)
  await own.close()
  process.send?.(`${code}, then written`)
}
await log.close().catch(() => undefined)
process.disconnect()
