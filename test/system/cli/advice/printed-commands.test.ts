import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { usageOf } from '../../../../src/cli/command/help.ts'
import { formatRating } from '../../../../src/models/ratings/format.ts'
import { generateRatings } from '../../../../src/models/ratings/generator.ts'
import { advised, commandOf, namesVerbs } from '../../../cli/advised.ts'
import { freePorts } from '../../../services/free-port.ts'
import { type CommandProcess, weir } from '../command-process.ts'

/**
 * Commands that texts of Weir advise, with what is filled in where it is not as printed: a number stands for what a
 * text fills in, and FILE, TOPIC and the like for what the user fills in. In this order, each in a project with a
 * weir.yaml, beside a job that serves a model.
 */
const RUN: Readonly<Record<string, string>> = {
  'topic create 7': 'topic create clicks',
  'topic list': 'topic list',
  'checkpoint list': 'checkpoint list',
  'checkpoint verify': 'checkpoint verify',
  list: 'list',
  'list -a': 'list -a',
  'token create --role read --tokens 7': 'token create --role read --tokens tokens.json',
  'token create --role read --tokens FILE': 'token create --role read --tokens tokens.json',
  'token create --role admin --tokens FILE': 'token create --role admin --tokens tokens.json',
  'token list': 'token list',
  'completion topics': 'completion topics',
  'completion jobs': 'completion jobs',
  'model list': 'model list',
  'model show': 'model show',
  'model show 7': 'model show 2',
  'model show 7 --model 7': 'model show 2 --model als-model',
  'model promote 7 --model 7 --golden FILE':
    'model promote 2 --model als-model --golden golden.data --max-latency 60000',
  'model promote 7 --model TOPIC --golden FILE':
    'model promote 2 --model als-model --golden golden.data --max-latency 60000',
  'model promote N --model 7 --golden FILE':
    'model promote 2 --model als-model --golden golden.data --max-latency 60000',
  'model promote': 'model promote 2',
  'model rollback': 'model rollback',
  'learn resume --model 7': 'learn resume --model als-model',
  'model drop 7 --model 7': 'model drop 3 --model als-model',
  'model load FILE --kind linear': 'model load weights.txt --kind linear',
  'retrain --once': 'retrain --once',
  'train svm --examples FILE --weights FILE':
    'train svm --examples examples.svm --weights trained.txt',
  'train svm --examples FILE --multiclass --publish --topic 7':
    'train svm --examples classes.svm --multiclass --publish --topic classes',
  'generate svm-model': 'generate svm-model --features 100',
}

/** Commands that are not run here, and why. */
const NOT_RUN: Readonly<Record<string, string>> = {
  'cluster start': 'starts a process that stays: test/system/jobmanager/start.test.ts runs it',
  'cluster stop': 'as cluster start',
  gateway: 'opens a port that others may have: test/system/gateway runs it on a free one',
  'gateway --model NAME': 'as gateway',
  'run histories --listen 9070': 'as gateway',
  jobmanager: 'as gateway',
  quickstart: 'serves until Ctrl-C: test/system/cli/quickstart.test.ts runs it',
  retrain: 'goes on until Ctrl-C: test/system/cli/retrain.test.ts runs it',
  'run JOB --repository DIR': "the module is the user's: test/system/inference runs some",
  'kafka transactions list': 'needs a broker: test/system/kafka/cli.test.ts runs it',
  'topic produce --watch SECONDS': 'goes on until Ctrl-C, and is named, not advised',
  'evaluate FILE --protocol strong':
    'needs users without a row: test/system/serving/strong-protocol.test.ts runs it',
  'learn resume': 'is named without the model; it is run with it above',
  'predict 1 50 --interval 0.95':
    'needs variances: test/system/serving/intervals.test.ts runs it on a version that has them',
  'train bmf --ratings FILE --intervals': 'as predict 1 50 --interval 0.95',
  'model load': 'is named without its argument',
  'model load --served': 'is named without its argument',
}

/** Commands that are advised of a damaged log; a test damages one. */
const OF_DAMAGE = ['log check', 'log repair']

/** Servers that are advised; the job of the project is one. */
const SERVERS: Readonly<Record<string, RegExp>> = {
  'run als-serving': /serving queries on/,
  'run histories': /serving queries on/,
  'run models': /serving queries on/,
}

/** Commands that are advised of a process that serves models of any kind. */
const OF_MODELS: Readonly<Record<string, string>> = {
  'model status': 'model status',
  'model load --served 7': 'model load --served double',
}

let folder: string
const projects: string[] = []
const servers: CommandProcess[] = []

/** A folder with a weir.yaml, whose job opens its ports. */
async function project(name: string, data = 'data'): Promise<string> {
  const path = join(folder, name)
  mkdirSync(path, { recursive: true })
  const [query, rest] = await freePorts(2)
  const settings = [
    `data-dir: ${join(folder, data)}`,
    `port: ${query}`,
    `jobmanager: 127.0.0.1:${rest}`,
    `rest.port: ${rest}`,
    'timeout: 60000',
    'execution.checkpointing.interval: 1s',
  ]
  writeFileSync(join(path, 'weir.yaml'), settings.join('\n'))
  projects.push(path)
  return path
}

const inProject = (cwd: string, words: string) => weir(words.split(' '), { cwd }).ended

async function done(cwd: string, words: string): Promise<string> {
  const { code, stdout, stderr } = await inProject(cwd, words)
  expect({ words, code, stderr: code === 0 ? '' : stderr }).toEqual({ words, code: 0, stderr: '' })
  return `${stdout}${stderr}`
}

async function serve(cwd: string, words: string): Promise<void> {
  const server = weir(words.split(' '), { cwd })
  servers.push(server)
  await server.printed(SERVERS[words]!)
}

/** The commands in quotes of a text. */
const commandsIn = (text: string): readonly string[] =>
  [...text.matchAll(/"weir ([a-z][^"\n]*)"/g)].map(([, words]) => words!)

let job: string
let models: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-advice-'))
  job = await project('job')
  const ratings = [...generateRatings({ users: 40, items: 20, ratings: 800 })]
  const lines = ratings.map((rating) => formatRating(rating, 'tab'))
  writeFileSync(join(job, 'ratings.data'), lines.slice(0, 700).join('\n'))
  writeFileSync(join(job, 'golden.data'), lines.slice(700).join('\n'))
  writeFileSync(join(job, 'examples.svm'), '+1 1:1 2:0.5\n-1 3:1\n+1 2:1\n-1 3:0.5\n')
  writeFileSync(join(job, 'classes.svm'), '1 1:1\n2 2:1\n3 3:1\n1 1:2\n')
  writeFileSync(join(job, 'weights.txt'), '1,0.5\n2,-0.25\n')
  models = await project('served', 'served-data')
  mkdirSync(join(models, 'models/double/1'), { recursive: true })
  writeFileSync(
    join(models, 'models/double/1/model.mjs'),
    `const spec = (name) => ({ name, datatype: 'FP32', shape: [-1] })
export default { signature: { inputs: [spec('x')], outputs: [spec('y')] }, run: ([x]) => [{ ...x, name: 'y' }] }
`,
  )
})

afterAll(async () => {
  for (const server of servers) await server[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

describe('the commands that texts of Weir advise', () => {
  it('are all here, or it is said why not, but those that are names of verbs', () => {
    const texts = [...new Set(advised().map(({ words }) => words.join(' ')))]
    const known = { ...RUN, ...NOT_RUN, ...SERVERS, ...OF_MODELS }
    const missing = texts.filter((text) => {
      if (OF_DAMAGE.includes(text)) return false
      const words = text.split(' ')
      const found = commandOf(words)
      // "weir model push" alone is the name of a verb that takes arguments.
      const isVerb =
        namesVerbs(words) || (found?.rest.length === 0 && / [A-Z]/.test(usageOf(found.command)))
      return !isVerb && !Object.hasOwn(known, text)
    })
    expect(missing).toEqual([])
    expect(Object.keys(known).filter((text) => !texts.includes(text))).toEqual([])
  })

  it('of a training and its promotion work as they are printed, with the file in them', async () => {
    const train = 'train als --ratings ratings.data --factors 4 --threads 0'
    await done(job, `${train} --iterations 1`)
    await serve(job, 'run als-serving')
    const printed = await done(job, `${train} --iterations 8`)
    const [promotion = ''] = commandsIn(printed)
    expect(promotion).toBe('model promote 2 --model als-model --golden FILE')
    // The slowest answer of a machine that runs other tests, too, is often above the limit of 100 ms.
    const filled = `${promotion.replace('FILE', 'golden.data')} --max-latency 60000`
    expect(await done(job, filled)).toContain('version 2 of als-model is live')
  })

  it('of a topic that is missing, and of a damaged one, work as they are printed', async () => {
    const missing = await inProject(job, 'retrain --once')
    const [create = ''] = commandsIn(missing.stderr)
    expect(create).toBe('topic create ratings')
    await done(job, create)
    const broken = await project('broken', 'broken-data')
    await done(broken, 'topic create clicks --partitions 1')
    truncateSync(join(folder, 'broken-data/log/clicks/0/partition'), 5)
    const damaged = await inProject(broken, 'topic consume clicks')
    expect(damaged.code).toBe(1)
    expect(commandsIn(damaged.stderr)).toEqual(['log repair'])
    for (const words of OF_DAMAGE) {
      const { code, stdout, stderr } = await inProject(broken, words)
      // 2 would be a wrong command; 1 says that there is damage.
      expect({ words, code }).toEqual({ words, code: 1 })
      expect(`${stdout}${stderr}`).toContain('clicks/0/partition')
    }
    await done(broken, 'log repair --yes')
    await done(broken, 'topic consume clicks')
  })

  it('run as they are printed', async () => {
    await done(job, 'topic produce ratings --ratings ratings.data')
    await done(job, 'train als --ratings ratings.data --factors 4 --threads 0 --iterations 2')
    const failed: Record<string, string> = {}
    for (const [advice, words] of Object.entries(RUN)) {
      const { code, stderr } = await inProject(job, words)
      if (code !== 0) failed[advice] = stderr
    }
    expect(failed).toEqual({})
  })

  it('serve, beside one another', async () => {
    await serve(await project('histories', 'data'), 'run histories')
    await serve(models, 'run models')
    for (const words of Object.values(OF_MODELS)) await done(models, words)
  })
})
