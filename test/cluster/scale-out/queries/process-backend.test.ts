import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { describe, expect, it, onTestFinished } from 'vitest'
import { WeirClient } from '../../../../src/client/index.ts'
import type { Owners } from '../../../../src/cluster/scale-out/queries/owners.ts'
import type { StateKeys } from '../../../../src/cluster/scale-out/queries/partition-reader.ts'
import {
  type PartitionReads,
  ProcessBackend,
  type ProcessState,
} from '../../../../src/cluster/scale-out/queries/process-backend.ts'
import { WeirError } from '../../../../src/core/errors.ts'
import { keyText } from '../../../../src/core/formats/key-text.ts'
import { ScanPage } from '../../../../src/serving/port/scan-page.ts'
import { QueryServer } from '../../../../src/serving/server/query-server.ts'
import type { Answer } from '../../../../src/wire/model-reader.ts'
import type { QueryEndpoint, RoutingTable } from '../../../../src/wire/routing-table.ts'

const PARTITIONS = 6
const COUNTS: StateKeys = { operatorUid: 'count', keyGroups: 128, keyFormat: 'key/1' }
const TOTAL: StateKeys = { operatorUid: 'total', keyGroups: 128, keyFormat: 'key/1' }
const KEYS = Array.from({ length: 200 }, (_, n) => `key-${n}`)
const ENVELOPE = {
  modelVersion: 0,
  partition: -1,
  offset: 0,
  checkpointId: 0,
  ageMs: 5,
  servedBy: 'a/0',
}

/** Keys of a scan in their order, dealt to the job partitions in turn; and how many a partition gives at a time. */
const ENTRIES = Array.from({ length: 100 }, (_, n) => `e-${String(n).padStart(3, '0')}`)
const MOST_AT_A_TIME = 4

/** A process of a job: its query port, and what it knows. Every value is the number of the partition that answers. */
class TestedProcess implements ProcessState {
  present: Owners = { epoch: 0, partitions: PARTITIONS, endpoints: [], owners: [] }
  /** Called whenever it looks for an owner. */
  looks = () => {}
  readonly running = new Set<number>()
  /** Keys that are asked of a partition, in the order of the requests. */
  readonly asked: { partition: number; keys: readonly string[] }[] = []
  readonly unknown = new Set<string>()
  mayAnswer: (partition: number) => boolean = () => true
  knowsStates = true
  self = ''
  private readonly readers = Array.from({ length: PARTITIONS }, (_, n) => this.newReader(n))
  private readonly server = new QueryServer(new ProcessBackend(this), { server: 'process' })

  get owners(): Owners {
    this.looks()
    return this.present
  }

  async open(): Promise<void> {
    this.self = `127.0.0.1:${await this.server.listen()}`
  }

  get endpoint(): QueryEndpoint {
    return { server: this.self, host: '127.0.0.1', port: this.server.port }
  }

  close(): Promise<void> {
    return this.server.close(0)
  }

  readerOf(partition: number): PartitionReads | undefined {
    return this.running.has(partition) ? this.readers[partition] : undefined
  }

  private newReader(partition: number): PartitionReads {
    return {
      rows: () => Promise.reject(new WeirError('UNKNOWN_STATE', 'no rows')),
      scanPage: async (_state, { from, to, limit }) => {
        this.asked.push({ partition, keys: [from] })
        const found = ENTRIES.filter(
          (key, n) => n % PARTITIONS === partition && key >= from && key < to,
        )
        const end = Math.min(limit, MOST_AT_A_TIME)
        const entries = found.slice(0, end).map((key) => ({ key, value: Uint8Array.of(partition) }))
        return ScanPage.of(entries, found[end])
      },
      values: async (_state, keys) => {
        this.asked.push({ partition, keys })
        return keys.map(
          (key): Answer<Uint8Array> =>
            this.unknown.has(key)
              ? { ok: false, error: new WeirError('UNKNOWN_KEY', `no ${key}`) }
              : { ok: true, value: Uint8Array.of(partition), envelope: ENVELOPE },
        )
      },
    }
  }

  keysOf(state: string): StateKeys | undefined {
    if (!this.knowsStates) return undefined
    return state === 'COUNTS' ? COUNTS : state === 'TOTAL' ? TOTAL : undefined
  }

  isSingle(operatorUid: string): boolean {
    return operatorUid === TOTAL.operatorUid
  }

  routing(): RoutingTable {
    const { epoch, partitions, endpoints, owners } = this.present
    const common = { kind: 'value', dimension: 0, versions: [], liveVersion: 0, keyFormat: 'key/1' }
    return {
      ...{ epoch, job: 'job', endpoints, sources: [], shares: { partitions, owners } },
      states: this.knowsStates
        ? [
            { ...common, name: 'COUNTS', keyGroups: 128 },
            { ...common, name: 'TOTAL', keyGroups: 1 },
          ]
        : [],
    }
  }
}

/** Processes of one job, of which the first has the partitions below `first`, and the second the others. */
async function twoProcesses(first: number): Promise<[TestedProcess, TestedProcess]> {
  const both: [TestedProcess, TestedProcess] = [new TestedProcess(), new TestedProcess()]
  for (const one of both) {
    await one.open()
    onTestFinished(() => one.close())
  }
  share(both, first, 1)
  return both
}

function share(both: [TestedProcess, TestedProcess], first: number, epoch: number): void {
  const owners = Array.from({ length: PARTITIONS }, (_, partition) => (partition < first ? 0 : 1))
  for (const [n, one] of both.entries()) {
    one.present = { epoch, partitions: PARTITIONS, endpoints: both.map((p) => p.endpoint), owners }
    one.running.clear()
    for (const [partition, owner] of owners.entries()) if (owner === n) one.running.add(partition)
  }
}

async function clientOf({ endpoint }: TestedProcess): Promise<WeirClient> {
  const client = await WeirClient.connect({ port: endpoint.port, deadlineMs: 60_000 })
  onTestFinished(() => client.close())
  return client
}

/** The partition that answered for each key. */
async function partitionsOf(client: WeirClient, keys: readonly string[]): Promise<number[]> {
  const answers = await client.values('COUNTS', keys)
  return answers.map((answer) => {
    if (!answer.ok) throw answer.error
    expect(answer.envelope).toMatchObject({ ageMs: -1, servedBy: `process/${answer.value[0]}` })
    return answer.value[0]!
  })
}

describe('queries of a job in many processes', () => {
  it('go to the owner of each key, with no request to another one', async () => {
    const both = await twoProcesses(2)
    const client = await clientOf(both[0])
    const retries: unknown[] = []
    const retried = (message: unknown) => retries.push(message)
    subscribe('weir:client:retry', retried)
    onTestFinished(() => void unsubscribe('weir:client:retry', retried))
    const partitions = await partitionsOf(client, KEYS)
    expect(retries.filter((one) => Object(one).code === 'NOT_OWNER')).toEqual([])
    expect(new Set(partitions)).toEqual(new Set([0, 1, 2, 3, 4, 5]))
    for (const [n, one] of both.entries()) {
      const keys = one.asked.flatMap((asked) => asked.keys)
      expect(keys.toSorted()).toEqual(
        KEYS.filter((_, at) => (partitions[at]! < 2 ? 0 : 1) === n).toSorted(),
      )
    }
  })

  it('follow a partition that has moved, by what its old owner says', async () => {
    const both = await twoProcesses(2)
    const client = await clientOf(both[0])
    const before = await partitionsOf(client, KEYS)
    share(both, 5, 2)
    expect(await partitionsOf(client, KEYS)).toEqual(before)
    await client.refreshRouting()
    expect(client.routing).toMatchObject({ epoch: 2, shares: { owners: [0, 0, 0, 0, 0, 1] } })
  })

  it('wait while two processes name each other, until both know the newest generation', async () => {
    const both = await twoProcesses(PARTITIONS)
    const client = await clientOf(both[0])
    // The first has heard that the second owns all; the second has not.
    const { present } = both[1]
    share(both, 0, 2)
    both[1].present = present
    both[1].running.clear()
    let looks = 0
    both[1].looks = () => {
      // More tries than a client makes after other errors.
      if (++looks === 24) share(both, 0, 2)
    }
    expect(await partitionsOf(client, ['key-1'])).toHaveLength(1)
    expect(both[1].asked).toHaveLength(1)
  })

  it('are not answered by a process that lost its right during the read', async () => {
    const [first] = await twoProcesses(PARTITIONS)
    const backend = new ProcessBackend(first)
    first.mayAnswer = () => first.asked.length === 0
    const [answer] = await backend.reader.values('COUNTS', ['key-1'])
    expect(first.asked).toHaveLength(1)
    expect(answer).toMatchObject({
      error: { code: 'RESTORING', details: { retryAfterMs: expect.any(Number) } },
    })
  })

  it('name the owner of a foreign key', async () => {
    const [first, second] = await twoProcesses(0)
    const [answer] = await new ProcessBackend(first).reader.values('COUNTS', ['key-1'])
    expect(answer).toMatchObject({
      error: { code: 'NOT_OWNER', details: { epoch: 1, endpoint: second.self } },
    })
  })

  it('find state of an operator of parallelism 1 in job partition 0', async () => {
    const [first, second] = await twoProcesses(1)
    const client = await clientOf(second)
    const answers = await client.values('TOTAL', KEYS.slice(0, 9))
    expect(answers.map((answer) => answer.ok && answer.value[0])).toEqual(new Array(9).fill(0))
    expect([first.asked.length, second.asked.length]).toEqual([1, 0])
  })

  it('reach the owner through a process that knows no state yet', async () => {
    const both = await twoProcesses(6)
    both[1].knowsStates = false
    const client = await clientOf(both[1])
    expect(await partitionsOf(client, KEYS.slice(0, 5))).toHaveLength(5)
    expect(both[1].asked).toEqual([])
  })

  it('look for a text that is no key as the number that it is, whoever owns that', async () => {
    const both = await twoProcesses(3)
    const numbers = Array.from({ length: 20 }, (_, n) => String(n))
    for (const one of both) for (const text of numbers) one.unknown.add(text)
    const client = await clientOf(both[0])
    const asTexts = await client.values('COUNTS', numbers)
    const asNumbers = await client.values('COUNTS', numbers.map(Number))
    const found = (answers: Answer<Uint8Array>[]) => answers.map((one) => one.ok && one.value[0])
    expect(found(asTexts)).toEqual(found(asNumbers))
    expect(asTexts.every(({ ok }) => ok)).toBe(true)
    // A number that is stored as a text only.
    for (const one of both) {
      one.unknown.clear()
      one.unknown.add(keyText(7))
    }
    const [seven] = await client.values('COUNTS', [7])
    expect(seven).toMatchObject({
      error: { code: 'INVALID_ARGUMENT', message: expect.stringContaining('ask for the text') },
    })
  })

  it.each([
    { consistency: { level: 'bounded', maxAgeMs: 5 } },
    { consistency: { level: 'at-least', partition: 0, offset: 5 } },
    { consistency: { level: 'checkpoint' } },
  ] as const)('refuse the consistency $consistency.level', async ({ consistency }) => {
    const [first] = await twoProcesses(6)
    const client = await clientOf(first)
    await expect(client.values('COUNTS', KEYS, { consistency })).rejects.toMatchObject({
      code: 'UNSUPPORTED',
    })
  })

  it('scan the partitions of all processes, in the order of the keys', async () => {
    const both = await twoProcesses(2)
    const client = await clientOf(both[0])
    const scan = async (from: string, to: string, limit: number) =>
      (await client.scan('COUNTS', { from, to, limit })).map(({ key }) => key)
    expect(await scan('', 'z', 1_000)).toEqual(ENTRIES)
    expect(await scan('e-010', 'e-050', 1_000)).toEqual(ENTRIES.slice(10, 50))
    // Where a limit ends the answers of partitions, nothing is left out.
    for (const limit of [1, 3, 5, 31]) {
      expect(await scan('e-007', 'z', limit)).toEqual(ENTRIES.slice(7, 7 + limit))
    }
    expect(both.every(({ asked }) => asked.length > 0)).toBe(true)
  })

  it('give no list while a partition has no owner, and the whole list afterwards', async () => {
    const both = await twoProcesses(2)
    both[1].running.delete(4)
    const client = await clientOf(both[0])
    const range = { from: '', to: 'z', limit: 1_000 }
    await expect(client.scan('COUNTS', range, { deadlineMs: 300 })).rejects.toMatchObject({
      message: expect.stringContaining('job partition 4 '),
    })
    both[1].running.add(4)
    expect(await client.scan('COUNTS', range)).toHaveLength(ENTRIES.length)
  })

  it('refuse what needs the keys of several processes, and answer no part of it', async () => {
    const [first] = await twoProcesses(3)
    const client = await clientOf(first)
    const refused = { code: 'UNSUPPORTED', message: expect.stringContaining('several processes') }
    await expect(client.predict('COUNTS', 'a', 'b')).rejects.toMatchObject(refused)
    await expect(client.topK('COUNTS', 'a', { k: 3, suffix: '' })).resolves.toMatchObject({
      error: refused,
    })
    // As a client asks that knows of one process.
    const whole = new ProcessBackend(first).scanPage('COUNTS', { from: '', to: 'z', limit: 5 }, {})
    await expect(whole).rejects.toMatchObject({ code: 'UNSUPPORTED' })
    expect(first.asked).toEqual([])
  })
})
