import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { BroadcastChannel, isMainThread, threadId } from 'node:worker_threads'
import type { MemorySample, ThreadMemory } from './samples.ts'

/*
 * Runs in every thread of the sampled process (`node --import`). Each thread collects its garbage and posts
 * the memory that is left; the main thread adds them up and sends them to the process that started it.
 */
const EVERY_MS = 4_000
const channel = new BroadcastChannel('weir-soak-memory')

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

function memoryOfThread(): ThreadMemory {
  collectGarbage()
  const { heapUsed, external, arrayBuffers } = process.memoryUsage()
  return { thread: threadId, heapUsed, external, arrayBuffers }
}

const latest = new Map<number, ThreadMemory>()

function send(): void {
  latest.set(threadId, memoryOfThread())
  const threads = [...latest.values()]
  const sum = (of: (memory: ThreadMemory) => number): number =>
    threads.reduce((total, memory) => total + of(memory), 0)
  const sample: MemorySample = {
    threads: threads.length,
    heapUsed: sum(({ heapUsed }) => heapUsed),
    external: sum(({ external }) => external),
    arrayBuffers: sum(({ arrayBuffers }) => arrayBuffers),
  }
  if (process.connected) process.send!(sample)
}

if (isMainThread) {
  channel.onmessage = (event) => {
    const memory = (event as { data: ThreadMemory }).data
    latest.set(memory.thread, memory)
  }
  // The process ends with the one that samples it.
  process.on('disconnect', () => process.exit(1))
  process.channel?.unref()
  setInterval(send, EVERY_MS).unref()
} else {
  setInterval(() => channel.postMessage(memoryOfThread()), EVERY_MS).unref()
}
channel.unref()
