import { WeirError } from '../../core/errors.ts'
import type { InputChannel } from '../channel/input.ts'
import type { BatchSpace, ChannelMessage, ForwardMessage } from '../channel/message.ts'
import type { OutputChannel } from '../channel/output.ts'
import type { MessagePortLike, SlotDeployment } from '../protocol/slot-messages.ts'
import type { PeerRowsMessage } from './peer-rows.ts'

/** Anything between two slots. */
type PeerMessage = ChannelMessage | PeerRowsMessage

/** Messages from one slot to another that were not posted yet. */
interface Outbox {
  readonly port: MessagePortLike
  messages: PeerMessage[]
  buffers: ArrayBuffer[]
  /** Credits among the messages. */
  credits: number
  /** Whether the messages contain more than credits. */
  urgent: boolean
}

/** Batches after which a post is made within a slice. */
const POST_BATCHES = 8

/**
 * Exchange of channel messages between slots over message ports, in order, many in one post; buffers
 * are transferred. A message to the own slot is delivered at once. Credits without other messages wait
 * until they are half of a channel's credits, so that the other slot is not woken for each credit. The
 * sender still has the other half and can continue.
 */
export class SlotExchange {
  private readonly slot: number
  private readonly wake: () => void
  private readonly onRows: (slot: number, message: PeerRowsMessage) => void
  private readonly mostHeldCredits: number
  private readonly outboxes: (Outbox | undefined)[]
  /** Whether a turn of the slot runs, which asks at its end what was delivered. */
  private inTurn = false
  /** Whether a message was delivered to the own slot in the turn that runs. */
  private delivered = false
  private readonly inputs = new Map<number, InputChannel>()
  private readonly outputs = new Map<number, OutputChannel>()

  constructor(
    { slot, peers, configuration }: SlotDeployment,
    wake: () => void,
    onRows: (slot: number, message: PeerRowsMessage) => void,
  ) {
    this.slot = slot
    this.wake = wake
    this.onRows = onRows
    this.mostHeldCredits = (configuration.network.credits >> 1) - 1
    this.outboxes = peers.map((port) =>
      port === undefined
        ? undefined
        : { port, messages: [], buffers: [], credits: 0, urgent: false },
    )
  }

  addInput(channel: InputChannel): void {
    this.inputs.set(channel.id, channel)
  }

  addOutput(channel: OutputChannel): void {
    this.outputs.set(channel.id, channel)
  }

  /** Begins to receive; every channel must be added before. */
  open(): void {
    for (const [slot, outbox] of this.outboxes.entries()) {
      outbox?.port.on('message', (post: readonly PeerMessage[]) => {
        for (const message of post) this.deliver(slot, message)
        this.wake()
      })
    }
  }

  /** Sends records or control messages to a slot. */
  send(slot: number, message: ForwardMessage): void {
    if (slot === this.slot) this.deliverHere(message)
    else this.post(slot, message, message.kind === 'batch' ? message.buffer : undefined)
  }

  /** Sends a message about rows to a slot. */
  sendRows(slot: number, message: PeerRowsMessage): void {
    if (slot === this.slot) this.deliverHere(message)
    else {
      const buffer = message.kind === 'answer' ? message.reply.packed.buffer : undefined
      this.post(slot, message, buffer)
    }
    this.wake()
  }

  /** Returns the space of a consumed batch to its sender. */
  credit(slot: number, channel: number, space: BatchSpace): void {
    const message: ChannelMessage = { kind: 'credit', channel, space }
    if (slot === this.slot) this.deliverHere(message)
    else this.post(slot, message, space instanceof ArrayBuffer ? space : undefined)
  }

  /** From here to `endTurn`, messages to the own slot do not wake it. */
  beginTurn(): void {
    this.inTurn = true
    this.delivered = false
  }

  /** Whether a message was delivered to the own slot in this turn, since the last call. */
  takeDelivered(): boolean {
    const { delivered } = this
    this.delivered = false
    return delivered
  }

  /** Ends a turn; whether messages to the own slot are left for the next one. */
  endTurn(): boolean {
    this.inTurn = false
    return this.takeDelivered()
  }

  /** Posts the collected messages. */
  flush(): void {
    for (const outbox of this.outboxes) {
      if (outbox === undefined) continue
      if (outbox.urgent || outbox.credits > this.mostHeldCredits) flushOutbox(outbox)
    }
  }

  close(): void {
    for (const outbox of this.outboxes) outbox?.port.close()
  }

  private post(slot: number, message: PeerMessage, buffer: ArrayBuffer | undefined): void {
    const outbox = this.outboxes[slot]
    if (outbox === undefined) throw new WeirError('ILLEGAL_STATE', `there is no slot ${slot}`)
    outbox.messages.push(message)
    if (message.kind === 'credit') outbox.credits += 1
    else outbox.urgent = true
    if (buffer === undefined) return
    outbox.buffers.push(buffer)
    if (outbox.buffers.length >= POST_BATCHES) flushOutbox(outbox)
  }

  private deliverHere(message: PeerMessage): void {
    this.deliver(this.slot, message)
    if (this.inTurn) this.delivered = true
    else this.wake()
  }

  private deliver(slot: number, message: PeerMessage): void {
    if (message.kind === 'ask' || message.kind === 'answer') this.onRows(slot, message)
    else if (message.kind === 'credit') this.outputs.get(message.channel)?.credit(message.space)
    else this.inputs.get(message.channel)?.push(message)
  }
}

function flushOutbox(outbox: Outbox): void {
  if (outbox.messages.length === 0) return
  outbox.port.postMessage(outbox.messages, outbox.buffers)
  outbox.messages = []
  outbox.buffers = []
  outbox.credits = 0
  outbox.urgent = false
}
