import { setTimeout as sleep } from 'node:timers/promises'
import { EmbeddedLog } from '../../../src/connectors/log/embedded-log.ts'
import { isWeirError } from '../../../src/core/errors.ts'
import { seededRandom } from '../../../src/core/random.ts'

/**
 * Main module of a process that writes numbered records to a log beside others, until 'end'. It reports
 * the numbers that were acknowledged. At 'close' it closes the log and opens it again. After a failure it
 * opens the log again, too, and goes on with numbers that it has not used.
 */
const [directory = '', name = '', seed = '1'] = process.argv.slice(2)
const random = seededRandom(Number(seed))
const encoder = new TextEncoder()
type Wish = 'none' | 'close' | 'end'
let wish: Wish = 'none'
const wished = (): Wish => wish
process.on('message', (message: Wish) => {
  wish = message
})

/** Records that one sync acknowledges, at most. */
const GROUP = 40
let next = 0

async function writeUntilWish(log: EmbeddedLog): Promise<void> {
  const producer = log.producer('t', { batchBytes: 300 })
  while (wished() === 'none') {
    const from = next
    const count = 1 + random.below(GROUP)
    for (let i = 0; i < count; i++) {
      producer.sendRecord(null, encoder.encode(`${name} ${next++}`), 1, 0, [])
      if (random.below(6) === 0) await producer.flush()
    }
    await producer.sync()
    process.send?.({ from, to: next })
    await sleep(0)
  }
}

while (wished() !== 'end') {
  const log = await EmbeddedLog.open(directory)
  try {
    await writeUntilWish(log)
  } catch (error) {
    // The owner was killed: which of the calls it has executed is unknown.
    if (!isWeirError(error, 'LOG_LOCKED')) throw error
    process.send?.({ lost: error.message })
  } finally {
    await log.close().catch(() => undefined)
  }
  if (wished() === 'close') wish = 'none'
}
process.disconnect()
