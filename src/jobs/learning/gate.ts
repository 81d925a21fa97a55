import { sleep } from '../../core/clock.ts'
import { numberIn } from '../../core/options/kinds.ts'
import { checkArgument } from '../../core/options/shape.ts'
import { AbstractOperator } from '../../operators/port/abstract-operator.ts'
import type { OperatorContext } from '../../operators/port/operator.ts'
import { InFlightLimit } from './in-flight-limit.ts'
import type { GateOrder, GateReport } from './messages.ts'

/** Time between two looks at whether observations may be taken again. */
const LOOK_EVERY_MS = 1

/**
 * An operator that takes no input before every slot can learn on the live version, and none while too
 * many observations are in flight. The coordinator of learning opens it (`LearningCoordinator`).
 */
export abstract class LearningGate extends AbstractOperator {
  /** The version that observations are learned on; 0 before the first. */
  protected version = 0
  /** Observations in flight; undefined before the first version. */
  protected inFlight: InFlightLimit | undefined
  /** What waits for room in the flight ends then. */
  protected isClosed = false
  private readonly mostInFlight: number
  private readonly waiting: (() => void)[] = []

  /** `mostInFlight`: observations in flight over all slots; above it the gate closes. @default no limit */
  constructor(mostInFlight: number = Number.POSITIVE_INFINITY) {
    super()
    checkArgument(
      'new LearningGate',
      'mostInFlight',
      numberIn({ min: 1, orInfinity: true }),
      mostInFlight,
    )
    this.mostInFlight = mostInFlight
  }

  override open(context: OperatorContext): void {
    super.open(context)
    const report: GateReport = { kind: 'gate-opened' }
    context.sendEvent(report)
  }

  override handleEvent(event: unknown): void {
    const order = event as GateOrder
    if (order.kind !== 'let-through') return
    this.version = order.version
    this.inFlight = new InFlightLimit(order.inFlight, this.mostInFlight)
    this.letThrough(order)
    for (const resolve of this.waiting.splice(0)) resolve()
  }

  /** Observations are learned on the order's version from here on. */
  protected letThrough(_order: GateOrder): void {}

  ready(): boolean {
    return this.inFlight?.admits() === true
  }

  async whenReady(): Promise<void> {
    if (this.inFlight === undefined) {
      await new Promise<void>((resolve) => this.waiting.push(resolve))
    }
    while (!this.isClosed && !this.ready()) await sleep(this.context.clock, LOOK_EVERY_MS)
  }

  override close(): void | Promise<void> {
    this.isClosed = true
  }
}
