import type { ExchangeRecord } from '../../../../src/cluster/scale-out/graph/exchange-receiver.ts'
import type { ExchangeMessage } from '../../../../src/cluster/scale-out/graph/exchange-sender.ts'
import type {
  Exchange,
  ExchangeTopics,
} from '../../../../src/cluster/scale-out/graph/partition-graph.ts'
import { MemorySource } from '../../../../src/connectors/memory/source.ts'
import { ByteReader } from '../../../../src/core/byte-reader.ts'
import { ByteWriter } from '../../../../src/core/byte-writer.ts'
import { DirectWriter } from '../../../../src/operators/basic/direct-writer.ts'
import type { Sink, SinkWriterContext } from '../../../../src/operators/port/sink.ts'
import type { Source, SourceReader } from '../../../../src/operators/port/source.ts'

const encoder = new TextEncoder()
const decoder = new TextDecoder()

interface Sent {
  readonly receiver: number
  readonly record: ExchangeRecord
}

/** Exchange topics in memory: what a transaction has written is read after its commit. */
export class MemoryExchanges implements ExchangeTopics {
  /** Records that were committed, of each partition of each topic. */
  readonly topics = new Map<string, ExchangeRecord[][]>()
  readonly prepared = new Map<string, readonly Sent[]>()
  nextTransaction = 1
  private readonly partitions: number
  private readonly waiting = new Set<() => void>()

  constructor(partitions: number) {
    this.partitions = partitions
  }

  sinkOf(exchange: Exchange): Sink<ExchangeMessage> {
    const records = this.recordsOf(exchange)
    return { guarantee: 'exactly-once', createWriter: () => new Writer(this, exchange, records) }
  }

  sourceOf(exchange: Exchange): Source<ExchangeRecord> {
    const source = new MemorySource(this.recordsOf(exchange), { bounded: false })
    return {
      boundedness: 'unbounded',
      discoveryIntervalMs: undefined,
      discover: () => source.discover(),
      createReader: () => this.waking(source.createReader()),
    }
  }

  /** Says that there are more records. */
  wake(): void {
    const waiting = [...this.waiting]
    this.waiting.clear()
    for (const resolve of waiting) resolve()
  }

  /** A reader of arrays that grow. */
  private waking(reader: SourceReader<ExchangeRecord>): SourceReader<ExchangeRecord> {
    const more = () => new Promise<void>((resolve) => this.waiting.add(resolve))
    return Object.assign(Object.create(reader) as SourceReader<ExchangeRecord>, {
      available: () => Promise.race([reader.available(), more()]),
    })
  }

  private recordsOf({ name }: Exchange): ExchangeRecord[][] {
    const found = this.topics.get(name)
    if (found !== undefined) return found
    const records = Array.from({ length: this.partitions }, (): ExchangeRecord[] => [])
    this.topics.set(name, records)
    return records
  }
}

class Writer extends DirectWriter<ExchangeMessage> {
  private readonly exchanges: MemoryExchanges
  private readonly exchange: Exchange
  private readonly records: ExchangeRecord[][]
  private sent: Sent[] = []
  private name = ''

  constructor(exchanges: MemoryExchanges, exchange: Exchange, records: ExchangeRecord[][]) {
    super()
    this.exchanges = exchanges
    this.exchange = exchange
    this.records = records
  }

  override async open(
    context?: SinkWriterContext,
    restored: readonly Uint8Array[] = [],
  ): Promise<void> {
    this.name = `${context?.jobName}/${context?.operatorUid}/`
    await this.commit(restored)
  }

  override write(message: ExchangeMessage): void {
    const { kind, sender, time, receiver, value } = message
    this.sent.push({ receiver, record: { kind, sender, time, value: this.copy(value) } })
  }

  override prepareCommit(): Promise<readonly Uint8Array[]> {
    if (this.sent.length === 0) return Promise.resolve([])
    const id = `${this.name}${this.exchanges.nextTransaction++}`
    this.exchanges.prepared.set(id, this.sent)
    this.sent = []
    return Promise.resolve([encoder.encode(id)])
  }

  override commit(committables: readonly Uint8Array[] = []): Promise<void> {
    for (const id of committables.map((bytes) => decoder.decode(bytes))) {
      const sent = this.exchanges.prepared.get(id) ?? []
      this.exchanges.prepared.delete(id)
      for (const { receiver, record } of sent) this.records[receiver]!.push(record)
    }
    this.exchanges.wake()
    return Promise.resolve()
  }

  private copy(value: unknown): unknown {
    if (value === undefined) return undefined
    const writer = new ByteWriter()
    this.exchange.serializer.write(value, writer)
    return this.exchange.serializer.read(new ByteReader(writer.toBytes()))
  }
}
