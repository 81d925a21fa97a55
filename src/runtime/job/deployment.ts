import { MessageChannel } from 'node:worker_threads'
import type { RestorePlan, SubtaskRestore } from '../checkpoint/protocol/restore-plan.ts'
import type { SlotHost } from '../protocol/slot-host.ts'
import type { MessagePortLike, SlotDeployment } from '../protocol/slot-messages.ts'

/** Deployment of one attempt: what all its slots share, and the restore plan that they divide. */
export interface AttemptDeployment
  extends Omit<SlotDeployment, 'slot' | 'slots' | 'restore' | 'peers'> {
  readonly plan: RestorePlan
}

/** Sends every slot its part of the attempt, with a port to each of the other slots. */
export function deploySlots(hosts: readonly SlotHost[], deployment: AttemptDeployment): void {
  const { plan, ...shared } = deployment
  const { attempt } = deployment
  const ports = connectSlots(hosts.length)
  for (const [slot, host] of hosts.entries()) {
    const peers = ports[slot]!
    const restore = restoreOf(plan, slot)
    host.send(
      {
        kind: 'deploy',
        attempt,
        deployment: { ...shared, slot, slots: hosts.length, restore, peers },
      },
      peers.filter((port) => port !== undefined),
    )
  }
}

/** A port for every pair of slots: `result[i][j]` is slot i's end to slot j. */
function connectSlots(slots: number): (MessagePortLike | undefined)[][] {
  const ports: (MessagePortLike | undefined)[][] = Array.from({ length: slots }, () =>
    new Array<MessagePortLike | undefined>(slots).fill(undefined),
  )
  for (let i = 0; i < slots; i++) {
    for (let j = i + 1; j < slots; j++) {
      const { port1, port2 } = new MessageChannel()
      ports[i]![j] = port1
      ports[j]![i] = port2
    }
  }
  return ports
}

/** What the subtasks of one slot restore: subtask i of every operator runs in slot i. */
function restoreOf(plan: RestorePlan, slot: number): SubtaskRestore[] {
  return [...plan.values()].flatMap((subtasks) =>
    subtasks.filter(({ subtask }) => subtask === slot),
  )
}
