import type { DeliveryGuarantee, Sink, SinkWriter } from '../port/sink.ts'
import { DirectWriter } from './direct-writer.ts'

/** A sink that drops every record, for benchmarks and for jobs whose result is their state. */
export class DiscardingSink<T> implements Sink<T> {
  readonly guarantee: DeliveryGuarantee = 'none'

  createWriter(): SinkWriter<T> {
    return new DiscardingWriter()
  }
}

class DiscardingWriter extends DirectWriter<unknown> {
  override write(): void {}
}
