import { describe, expect, it } from 'vitest'
import { LearningGate } from '../../../src/jobs/learning/gate.ts'
import { InFlightLimit } from '../../../src/jobs/learning/in-flight-limit.ts'
import type { GateOrder } from '../../../src/jobs/learning/messages.ts'
import { OperatorHarness } from '../../../src/testing/operator-harness.ts'

class Gate extends LearningGate {
  readonly orders: GateOrder[] = []

  processElement(): void {
    this.inFlight?.enter()
  }

  protected override letThrough(order: GateOrder): void {
    this.orders.push(order)
  }
}

const letThrough = (version: number, inFlight = InFlightLimit.newBuffer()): GateOrder => {
  return { kind: 'let-through', version, resumeOffsets: [], known: [version], inFlight }
}

/** Whether a promise is settled after the pending microtasks. */
async function isSettled(promise: Promise<void>): Promise<boolean> {
  let settled = false
  void promise.then(() => {
    settled = true
  })
  for (let i = 0; i < 10; i++) await Promise.resolve()
  return settled
}

describe('a learning gate', () => {
  it('reports that it is open, and takes nothing before a version is learned on', async () => {
    const gate = new Gate()
    const harness = await OperatorHarness.open({ operator: gate })
    expect(harness.events).toEqual([{ kind: 'gate-opened' }])
    expect(gate.ready()).toBe(false)
    const ready = gate.whenReady()
    expect(await isSettled(ready)).toBe(false)
    gate.handleEvent(letThrough(7))
    expect(await isSettled(ready)).toBe(true)
    expect(gate.ready()).toBe(true)
    expect(await isSettled(gate.whenReady())).toBe(true)
    expect(gate.orders.map(({ version }) => version)).toEqual([7])
  })

  it('takes nothing while too many observations are in flight, on whichever slot', async () => {
    const gate = new Gate(2)
    const harness = await OperatorHarness.open({ operator: gate })
    const inFlight = InFlightLimit.newBuffer()
    gate.handleEvent(letThrough(7, inFlight))
    const elsewhere = new InFlightLimit(inFlight)
    elsewhere.enter()
    expect(gate.ready()).toBe(true)
    harness.process('an observation')
    expect(gate.ready()).toBe(false)
    const ready = gate.whenReady()
    harness.advanceTime(5)
    expect(await isSettled(ready)).toBe(false)
    elsewhere.leave()
    harness.advanceTime(5)
    expect(await isSettled(ready)).toBe(true)
  })

  it('takes the next version without closing', async () => {
    const gate = new Gate()
    await OperatorHarness.open({ operator: gate })
    const inFlight = InFlightLimit.newBuffer()
    for (const version of [7, 8]) gate.handleEvent(letThrough(version, inFlight))
    expect(gate.ready()).toBe(true)
    expect(gate.orders.map(({ version }) => version)).toEqual([7, 8])
  })

  it('ignores events of another kind', async () => {
    const gate = new Gate()
    await OperatorHarness.open({ operator: gate })
    gate.handleEvent({ kind: 'begin' })
    expect(gate.ready()).toBe(false)
  })
})
