import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import { monotonousTimestamps } from '../../../src/dataflow/watermark-strategy.ts'
import { tumblingEventTimeWindows } from '../../../src/operators/windows/assigner.ts'

/** An order of the programs that are refused. */
export interface Order {
  readonly user: string
  readonly price: number
}

const ORDERS: readonly Order[] = [{ user: 'a', price: 1 }]

/** Streams from which a program goes on, and a cast for what TypeScript refuses, too. */
export class Program {
  readonly env = new StreamExecutionEnvironment()
  readonly orders = this.env.fromElements(ORDERS, monotonousTimestamps())
  readonly keyed = this.orders.keyBy(({ user }) => user)
  readonly windows = this.keyed.window(tumblingEventTimeWindows(10))
  readonly connected = this.orders.connect(this.orders)
}

/** The orders joined with themselves in windows, before `apply`. */
export const joined = ({ orders }: Program) =>
  orders
    .join(orders)
    .where(({ user }) => user)
    .equalTo(({ user }) => user)
    .window(tumblingEventTimeWindows(10))

/** The wrong argument of a program in plain JavaScript. */
export const wrong = (value: unknown): never => value as never
