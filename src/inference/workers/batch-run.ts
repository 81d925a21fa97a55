import { asWeirError, isWeirError, WeirError } from '../../core/errors.ts'
import { BatchBuffer, itemsOf } from '../port/batch-buffer.ts'
import type { LoadedModel } from '../port/runner.ts'
import { itemAxisOf, type ModelSignature, rowsOf, type TensorSpec } from '../port/signature.ts'
import type { Tensor } from '../port/tensor.ts'
import { numberOfCode } from '../queue/failure-code.ts'
import { SLOT, SLOT_TIME, STATE, WORKER } from '../queue/layout.ts'
import type { QueueMemory } from '../queue/memory.ts'
import { responseBucketOf } from '../queue/response-times.ts'
import { readTensors, writeTensors } from '../queue/tensor-bytes.ts'
import { type WorkerSide, writeFailure } from '../queue/worker-side.ts'

/** What became of a batch. */
export interface BatchOutcome {
  /** Time of the run, ms. */
  readonly runMs: number
  readonly answered: number
  readonly failed: number
}

/** Run of a batch whose outputs are to be written. */
interface EndedRun {
  /** Items of the batch. */
  readonly total: number
  readonly runMs: number
  /** Monotonic ms. */
  readonly endedAt: number
}

/** Failures of another server, which smaller batches would only repeat. */
const PEER_FAILURES = ['MODEL_NOT_LOADED', 'REMOTE_MODEL_FAILED'] as const

/** Runs taken slots of a queue as batches and writes what came out. */
export class BatchRun {
  private readonly model: LoadedModel
  private readonly signature: ModelSignature
  private readonly side: WorkerSide
  private readonly memory: QueueMemory
  private readonly buffer = new BatchBuffer()
  private readonly nowMs: () => number

  constructor(
    { model, signature }: { readonly model: LoadedModel; readonly signature: ModelSignature },
    side: WorkerSide,
    nowMs: () => number,
  ) {
    this.model = model
    this.signature = signature
    this.side = side
    this.memory = side.memory
    this.nowMs = nowMs
  }

  /**
   * Runs the slots as one batch. When the model refuses it, halves run alone until the request that the
   * model refuses fails by itself. Rejects with WORKER_LOST when the process of the model ended.
   */
  async run(slots: readonly number[]): Promise<BatchOutcome> {
    const startedAt = this.nowMs()
    try {
      // Whatever a batching rule takes: requests that must run alone do.
      if (slots.length > 1 && this.signature.alone !== undefined) {
        return await this.apart(slots.slice(0, 1), slots.slice(1))
      }
      const requests = slots.map((slot) => this.inputsOf(slot))
      const specs = this.signature.inputs
      const odd = requests.findIndex((tensors) => !haveEqualShapes(specs, tensors, requests[0]!))
      if (odd > 0) return await this.apart(slots.slice(0, odd), slots.slice(odd))
      const inputs = this.buffer.gather(specs, requests)
      const total = slots.length === 1 ? rowsOf(this.signature, inputs) : this.itemsOfSlots(slots)
      this.side.count(WORKER.executions, slots.length)
      const outputs = await this.model.run(inputs, total)
      const endedAt = this.nowMs()
      const runMs = endedAt - startedAt
      return { runMs, ...this.answer(slots, outputs, { total, runMs, endedAt }) }
    } catch (error) {
      // The process of the model ended: this worker ends, too, and its slots are put up again.
      if (isWeirError(error, 'WORKER_LOST')) throw error
      if (PEER_FAILURES.some((code) => isWeirError(error, code))) {
        for (const slot of slots) this.fail(slot, error as WeirError)
        return { runMs: this.nowMs() - startedAt, answered: 0, failed: slots.length }
      }
      if (slots.length > 1) {
        const middle = slots.length >>> 1
        return await this.apart(slots.slice(0, middle), slots.slice(middle))
      }
      this.fail(slots[0]!, asWeirError(error, 'MODEL_FAILED'))
      return { runMs: this.nowMs() - startedAt, answered: 0, failed: 1 }
    }
  }

  private async apart(first: readonly number[], second: readonly number[]): Promise<BatchOutcome> {
    const [a, b] = [await this.run(first), await this.run(second)]
    return {
      runMs: a.runMs + b.runMs,
      answered: a.answered + b.answered,
      failed: a.failed + b.failed,
    }
  }

  private inputsOf(slot: number): Tensor[] {
    return readTensors(this.memory, this.memory.inputAt(slot), this.signature.inputs)
  }

  private itemsOfSlots(slots: readonly number[]): number {
    let items = 0
    for (const slot of slots) items += this.memory.words[this.memory.slotAt(slot) + SLOT.items]!
    return items
  }

  /**
   * Where requests run alone, outputs are of any size. Throws MODEL_FAILED before the first slot is answered when a model
   * whose rows are independent, as it or its settings say, gives another number of rows than it got.
   */
  private answer(
    slots: readonly number[],
    outputs: readonly Tensor[],
    run: EndedRun,
  ): { readonly answered: number; readonly failed: number } {
    const specs = this.signature.outputs
    if (outputs.length !== specs.length) {
      throw new WeirError(
        'MODEL_FAILED',
        `the model returned ${outputs.length} outputs, its signature has ${specs.length}`,
      )
    }
    const { total } = run
    let first = 0
    const parts = slots.map((slot) => {
      if (this.signature.alone !== undefined) return outputs
      const items = this.memory.words[this.memory.slotAt(slot) + SLOT.items]!
      const part = outputs.map((output, i) => itemsOf(output, specs[i]!, { first, items, total }))
      first += items
      return part
    })
    let failed = 0
    slots.forEach((slot, r) => {
      if (!this.write(slot, parts[r]!, run)) failed++
    })
    this.side.ring(slots)
    return { answered: slots.length - failed, failed }
  }

  /** False when the outputs do not fit into the slot, or the slot was taken away. */
  private write(
    slot: number,
    outputs: readonly Tensor[],
    { total, runMs, endedAt }: EndedRun,
  ): boolean {
    if (!this.side.beginWrite(slot)) return false
    const { memory } = this
    const at = memory.slotAt(slot)
    memory.words[at + SLOT.batchItems] = total
    memory.numbers[at / 2 + SLOT_TIME.runMs] = runMs
    const written = writeTensors(memory, memory.outputAt(slot), memory.outputBytes, outputs)
    if (written < 0) {
      const bytes = outputs.reduce((sum, { data }) => sum + data.length, 0)
      this.writeFailure(
        slot,
        new WeirError(
          'FRAME_TOO_LARGE',
          `the outputs have ${bytes} bytes, the slot ${memory.outputBytes}; raise output-bytes of its settings`,
        ),
      )
      return false
    }
    memory.words[at + SLOT.outputLength] = written
    // Counted before the producer can see the answer.
    this.side.count(WORKER.answered, 1)
    const responseMs = endedAt - memory.numbers[at / 2 + SLOT_TIME.arrival]!
    this.side.count(WORKER.responses + responseBucketOf(responseMs), 1)
    this.side.endWrite(slot, STATE.done)
    return true
  }

  private fail(slot: number, error: WeirError): void {
    if (this.side.beginWrite(slot)) this.writeFailure(slot, error)
    this.side.ring([slot])
  }

  private writeFailure(slot: number, error: WeirError): void {
    const { code, message } = error
    writeFailure(this.memory, slot, { code: numberOfCode(code), message })
    this.side.count(WORKER.failed, 1)
    this.side.endWrite(slot, STATE.failed)
  }
}

/** The bucket of two requests is a hash, so what shares a batch is compared once more. */
function haveEqualShapes(
  specs: readonly TensorSpec[],
  tensors: readonly Tensor[],
  first: readonly Tensor[],
): boolean {
  if (tensors === first) return true
  for (let i = 0; i < specs.length; i++) {
    const { shape, data } = tensors[i]!
    const other = first[i]!
    const axis = itemAxisOf(specs[i]!)
    if (axis === null && Buffer.compare(data, other.data) !== 0) return false
    if (shape.length !== other.shape.length) return false
    for (let d = 0; d < shape.length; d++) {
      if (d !== axis && shape[d] !== other.shape[d]) return false
    }
  }
  return true
}
