import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, it } from 'vitest'
import { Installation } from '../../combinations/installation.ts'
import { explicitKind, hingeKind } from '../../combinations/kinds.ts'
import { type SharedKafka, sharedKafka } from '../../services/lending/kafka.ts'
import { Week } from './week.ts'

let broker: SharedKafka
let folder: string

beforeAll(async () => {
  broker = await sharedKafka()
  folder = mkdtempSync(join(tmpdir(), 'weir-kafka-week-'))
})

afterAll(async () => {
  await broker?.[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

// The two have topics of their own, also by default.
it.each([
  ['explicit ratings', explicitKind],
  ['an SVM', hingeKind],
])(
  'a week with %s on Kafka: each day what is served, counted and measured is right',
  async (name, kind) => {
    const machine = (place: string): Installation => {
      // Who imports has no Kafka; a copy of the folder goes on with the same one.
      const brokers = place === 'imported' ? undefined : broker.bootstrap
      return new Installation(join(folder, name, place), brokers)
    }
    await new Week(kind(), machine('first'), machine).run()
  },
  240_000,
)
