import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openTopics } from '../../src/connectors/topics/open.ts'
import { scanTopic } from '../../src/connectors/topics/scan.ts'
import type { TopicStore } from '../../src/connectors/topics/store.ts'
import type { RunCommand } from '../cli/command-here.ts'
import { type CommandResult, weir } from '../system/cli/command-process.ts'
import type { Encryption } from './encryption.ts'
import type { Storage } from './storage.ts'

/** A record of a topic. */
export interface TopicEntry {
  readonly partition: number
  readonly offset: number
  readonly key: string
  readonly value: Buffer
  readonly headers: ReadonlyMap<string, Buffer>
}

/** What was read of a topic. */
interface ReadTopic {
  readonly entries: TopicEntry[]
  /** By partition, its end at the last look, and the offset of the next record to read. */
  readonly ends: number[]
  readonly next: number[]
}

/** Runs a command as a process of its own, as a user does. */
const asProcess: RunCommand = (args, input = '') => weir(args).input(input).ended

/** What a machine has besides its folder. */
export interface InstallationOptions {
  /** Where the topics are. @default in the embedded log of its data folder */
  readonly storage?: Storage | undefined
  /** @default each command is a process of its own */
  readonly runCommand?: RunCommand
  /** Certificates of its jobs and of who asks them. @default their ports are plain */
  readonly encryption?: Encryption | undefined
}

/** A machine of a new user: a data folder, or a Kafka, and commands. */
export class Installation {
  readonly folder: string
  readonly encryption: Encryption | undefined
  private readonly storage: Storage | undefined
  private readonly runCommand: RunCommand
  private readonly read = new Map<string, ReadTopic>()

  constructor(
    folder: string,
    { storage, runCommand = asProcess, encryption }: InstallationOptions = {},
  ) {
    mkdirSync(folder, { recursive: true })
    this.folder = folder
    this.storage = storage
    this.runCommand = runCommand
    this.encryption = encryption
  }

  /** Another machine, with its own topics, whose folder is in this one. */
  another(name: string): Installation {
    const { runCommand, encryption } = this
    return new Installation(this.file(name), { runCommand, encryption })
  }

  /** A copy of this machine, as far as its topics are elsewhere: those are the same ones. */
  copy(name: string): Installation {
    const { runCommand, encryption, storage } = this
    return new Installation(this.file(name), { runCommand, encryption, storage })
  }

  /** The same machine, whose commands are run otherwise. */
  running(runCommand: RunCommand): Installation {
    const { folder, encryption, storage } = this
    return new Installation(folder, { runCommand, encryption, storage })
  }

  /** Flags of a command that reads or writes topics. */
  get place(): readonly string[] {
    return [...this.dataFlags, ...this.topicFlags]
  }

  /** Flags of a JobManager. */
  get managerPlace(): readonly string[] {
    return [...this.dataFlags, ...(this.storage?.ofJobManager ?? [])]
  }

  /** Flags that say where topics are, if not in the data folder. */
  get topicFlags(): readonly string[] {
    return this.storage?.flags ?? []
  }

  private get dataFlags(): readonly string[] {
    return ['--data-dir', join(this.folder, 'data')]
  }

  /** Path of a file beside the data folder. */
  file(name: string): string {
    return join(this.folder, name)
  }

  /** Writes a file of these lines; returns its path. */
  write(name: string, lines: readonly string[]): string {
    writeFileSync(this.file(name), `${lines.join('\n')}\n`)
    return this.file(name)
  }

  /** The output of a command that reads or writes topics. Throws when it fails. */
  run(...args: string[]): Promise<string> {
    return this.ask(...args, ...this.place)
  }

  /** The result of such a command, which may fail. */
  attempt(...args: string[]): Promise<CommandResult> {
    return this.runCommand([...args, ...this.place])
  }

  /** The output of a command that only asks a job. Throws when it fails. */
  async ask(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.runCommand(args)
    if (code !== 0) throw new Error(`weir ${args.join(' ')}: ${code}\n${stdout}\n${stderr}`)
    return stdout
  }

  /** Appends lines to a topic. */
  async produce(topic: string, lines: readonly string[]): Promise<void> {
    const command = ['topic', 'produce', topic, ...this.place]
    const { code, stderr } = await this.runCommand(command, `${lines.join('\n')}\n`)
    if (code !== 0) throw new Error(`weir topic produce ${topic}: ${code} ${stderr}`)
  }

  /**
   * All records of a topic, those of a partition in order; none where there is no topic. Reads each record
   * once: one call at a time.
   */
  async records(topic: string): Promise<readonly TopicEntry[]> {
    await using topics = await this.topics()
    if (!(await topics.has(topic))) return []
    const { entries, ends, next } = this.readOf(topic)
    const bounds = await topics.bounds(topic)
    const grown = bounds.filter(({ partition, end }) => end !== ends[partition])
    const starts = grown.map(({ partition }) => ({ partition, nextOffset: next[partition] ?? -1 }))
    if (starts.length === 0) return entries
    await scanTopic(
      topics,
      topic,
      (record, partition) => {
        const { offset } = record
        next[partition] = offset + 1
        const value = record.value()
        if (value === null) return true
        const key = Buffer.from(record.key() ?? []).toString()
        const headers = new Map(
          record.headers().map((header) => [header.key, Buffer.from(header.value ?? [])] as const),
        )
        entries.push({ partition, offset, key, value: Buffer.from(value), headers })
        return true
      },
      starts,
    )
    for (const { partition, end } of grown) ends[partition] = end
    return entries
  }

  private readOf(topic: string): ReadTopic {
    const read = this.read.get(topic) ?? { entries: [], ends: [], next: [] }
    this.read.set(topic, read)
    return read
  }

  private topics(): Promise<TopicStore> {
    const { storage } = this
    return openTopics(
      storage === undefined ? { logDirectory: this.file('data/log') } : { kafka: storage.kafka },
    )
  }
}
