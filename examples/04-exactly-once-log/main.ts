/**
 * Exactly once, from one topic of the embedded log to another, although the job crashes once.
 * Run it with
 *
 *   npx node examples/04-exactly-once-log/main.ts
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  EmbeddedLog,
  type KeyedFunctionContext,
  type KeyedProcessFunction,
  LocalExecutor,
  LogSink,
  LogSource,
  StreamExecutionEnvironment,
  type ValueState,
  valueState,
} from '../../src/index.ts'

const ORDERS = 4000
const SHOPS = 10
const CRASH_AT = 2500

const folder = await mkdtemp(join(tmpdir(), 'weir-example-'))
const directory = join(folder, 'log')
const encoder = new TextEncoder()
const decoder = new TextDecoder()

async function writeOrders(): Promise<void> {
  await using log = await EmbeddedLog.open(directory)
  await log.createTopic('orders', { partitions: 2 })
  await log.createTopic('receipts', { partitions: 2 })
  const producer = log.producer('orders')
  for (let i = 0; i < ORDERS; i++) {
    producer.send(encoder.encode(`shop-${i % SHOPS}`), encoder.encode('1'), i)
    if (!producer.ready()) await producer.whenReady()
  }
  await producer.sync()
}

let seen = 0
let crashes = 0

/** Numbers the orders of each shop; crashes once, in the middle. */
const numberOrders = (): KeyedProcessFunction<string, string, [shop: string, number: number]> => {
  let count: ValueState<number>
  return {
    open(context: KeyedFunctionContext) {
      count = context.getState(valueState<number>('count'))
    },
    processElement(shop, _, out) {
      if (++seen === CRASH_AT) {
        crashes++
        throw new Error('the power went out')
      }
      const number = (count.value() ?? 0) + 1
      count.update(number)
      out.collect([shop, number])
    },
  }
}

async function numberAll(): Promise<void> {
  const env = new StreamExecutionEnvironment({
    executor: new LocalExecutor({
      'state.backend.type': 'heap',
      'execution.checkpointing.dir': join(folder, 'checkpoints'),
      'execution.checkpointing.interval': '20 ms',
      'restart-strategy.type': 'fixed-delay',
      'restart-strategy.fixed-delay.delay': '1 ms',
    }),
  })
  const orders = new LogSource<string>({
    directory,
    topic: 'orders',
    bounded: true,
    deserialize: (record) => decoder.decode(record.key()!),
  })
  const receipts = new LogSink<[shop: string, number: number]>({
    directory,
    topic: 'receipts',
    // One transaction per checkpoint: readers see its records once the checkpoint is complete.
    guarantee: 'exactly-once',
    serialize([shop, number], record) {
      record.key = encoder.encode(shop)
      record.value = encoder.encode(String(number))
    },
  })
  env
    .fromSource(orders)
    .uid('orders')
    .keyBy((shop) => shop)
    .process(numberOrders)
    .uid('number-orders')
    .sinkTo(receipts)
    .uid('receipts')
  await env.execute('receipts')
}

/** All receipts by shop, as a read_committed reader sees them. */
async function readReceipts(): Promise<Map<string, number[]>> {
  const receipts = new Map<string, number[]>()
  const env = new StreamExecutionEnvironment({ executor: new LocalExecutor() })
  env
    .fromSource(LogSource.raw({ directory, topic: 'receipts', bounded: true }))
    .process(() => ({
      processElement(record) {
        const shop = decoder.decode(record.key!)
        const numbers = receipts.get(shop) ?? []
        numbers.push(Number(decoder.decode(record.value!)))
        receipts.set(shop, numbers)
      },
    }))
    .discard()
  await env.execute('check')
  return receipts
}

await writeOrders()
await numberAll()
const receipts = await readReceipts()
await rm(folder, { recursive: true })

const all = [...receipts.values()]
const gapless = all.every((numbers) => numbers.every((number, i) => number === i + 1))
console.log(`${ORDERS} orders of ${receipts.size} shops, ${crashes} crash`)
console.log(`${all.flat().length} receipts, each shop's numbers without gap or repeat: ${gapless}`)
