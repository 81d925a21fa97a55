import type { InferAnswer } from '../port/request.ts'
import type { ServedModel } from '../port/served-model.ts'
import { SLOT, SLOT_TIME } from '../queue/layout.ts'
import type { QueueMemory } from '../queue/memory.ts'
import { readTensors } from '../queue/tensor-bytes.ts'

/** The answer in a slot that is done. The outputs are copied, because the slot is used again. */
export function answerOf(
  memory: QueueMemory,
  slot: number,
  { served, isHedged }: { readonly served: ServedModel; readonly isHedged: boolean },
): InferAnswer {
  const at = memory.slotAt(slot)
  const times = at / 2
  const lostAttempts = memory.words[at + SLOT.attempt]!
  const outputs = readTensors(memory, memory.outputAt(slot), served.signature.outputs)
  return {
    outputs: outputs.map(({ name, datatype, shape, data }) => ({
      name,
      datatype,
      shape,
      data: data.slice(),
    })),
    version: served.id.version,
    queueMs:
      memory.numbers[times + SLOT_TIME.takenAt]! - memory.numbers[times + SLOT_TIME.arrival]!,
    runMs: memory.numbers[times + SLOT_TIME.runMs]!,
    batchItems: memory.words[at + SLOT.batchItems]!,
    flags: {
      ...(lostAttempts > 0 ? { lostAttempts } : {}),
      ...(isHedged ? { isHedged } : {}),
    },
  }
}
