import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  builtEntry,
  CommandProcess,
  type CommandResult,
  jsonLines,
  PATIENT,
  REPOSITORY,
  weir,
} from './command-process.ts'

let folder: string
let data: string
let ratings: string
let served: CommandProcess
let port: string

/** Runs a verb to its end. */
async function run(...args: string[]): Promise<CommandResult> {
  return await weir(args).ended
}

/** Runs a verb on the served job. */
async function ask(...args: string[]): Promise<CommandResult> {
  return await run(...args, '--port', port)
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-cli-'))
  data = join(folder, 'data')
  ratings = join(folder, 'ratings.data')
  const generated = await run(
    ...['generate', 'ratings', '--users', '120', '--items', '50', '--ratings', '5000'],
    ...['--output', ratings, '--json'],
  )
  expect(jsonLines(generated.stdout)).toEqual([
    { users: 120, items: 50, ratings: 5000, seed: 1, drift: 0, output: ratings },
  ])
  const trained = await run(
    ...['train', 'als', '--ratings', ratings, '--factors', '8', '--iterations', '3'],
    ...['--threads', '0', '--data-dir', data, '--test', ratings, '--json'],
  )
  expect(trained.code).toBe(0)
  expect(jsonLines(trained.stdout)[0]).toMatchObject({ items: 50, version: 1, topic: 'als-model' })
  served = weir(['run', 'als-serving', '--data-dir', data, '--port', '0', '--json'])
  port = (await served.printed(/"started","port":(\d+)/))[1]!
  await served.printed(/"event":"live","version":1/)
})

afterAll(async () => {
  served.signal('SIGINT')
  expect(await served.ended).toMatchObject({ code: 0 })
  rmSync(folder, { recursive: true, force: true })
})

describe('weir predict', () => {
  it('prints scores, and marks cold pairs', async () => {
    const { code, stdout } = await ask('predict', '1', '2', 'nobody')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^2 +\d\.\d{4} {2}version 1$/m)
    expect(stdout).toMatch(/^nobody .*\(cold\)/m)
  })

  it('prints JSON lines with all fields of the answers', async () => {
    const { stdout } = await ask('predict', '1', '2', '--json')
    expect(jsonLines(stdout)).toMatchObject([
      { user: '1', item: '2', leftCold: false, rightCold: false, modelVersion: 1 },
    ])
  })

  it('refuses an interval of a version without variances, and says how one has them', async () => {
    const { code, stderr } = await ask('predict', '1', '2', '--interval', '0.95')
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('train bmf --ratings FILE --intervals'),
    ])
    expect(await ask('predict', '1', '2', '--interval', '1')).toMatchObject({ code: 2 })
  })

  it('fails with 1 without a server, with 2 without an item', async () => {
    const nobody = await run('predict', '1', '2', '--port', '1', '--timeout', '500')
    expect(nobody).toMatchObject({ code: 1, stdout: '' })
    expect(nobody.stderr).toContain('weir: UNAVAILABLE')
    expect(await ask('predict', '1')).toMatchObject({ code: 2 })
  })
})

describe('weir recommend', () => {
  it('lists the best items without the excluded ones', async () => {
    const all = jsonLines((await ask('recommend', '1', '--k', '3', '--json')).stdout)
    expect(all).toHaveLength(3)
    const best = String(all[0]!['item'])
    const { stdout } = await ask('recommend', '1', '--k', '2', '--exclude', best)
    const items = stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split(' ')[0])
    expect(items).toEqual([all[1]!['item'], all[2]!['item']])
  })
})

describe('weir similar', () => {
  it('lists the items with the highest cosine, without the given ones', async () => {
    const lines = jsonLines((await ask('similar', '1', '--k', '3', '--json')).stdout)
    expect(lines).toHaveLength(3)
    expect(lines.map(({ item }) => item)).not.toContain('1')
    const cosines = lines.map(({ cosine }) => Number(cosine))
    expect(cosines).toEqual([...cosines].sort((a, b) => b - a))
    expect(Math.max(...cosines)).toBeLessThanOrEqual(1.000_001)
    const { code, stderr } = await ask('similar', 'nothing')
    expect([code, stderr]).toEqual([1, expect.stringContaining('any item of nothing')])
  })
})

describe('weir recommend for an unknown user', () => {
  it('lists the items of the mean user and says so', async () => {
    const { code, stdout, stderr } = await ask('recommend', 'nobody', '--k', '2')
    expect(code).toBe(0)
    expect(stdout.trimEnd().split('\n')).toHaveLength(2)
    expect(stderr).toContain('the model does not know user nobody')
    const json = jsonLines((await ask('recommend', 'nobody', '--k', '1', '--json')).stdout)
    expect(json).toMatchObject([{ userCold: true }])
    const known = await ask('recommend', '1', '--k', '1', '--json')
    expect(jsonLines(known.stdout)).toMatchObject([{ userCold: false }])
    expect(known.stderr).toBe('')
  })
})

describe('weir query', () => {
  it('prints rows and reports the keys that do not exist', async () => {
    const { code, stdout, stderr } = await ask('query', 'ALS_MODEL', '1-U', 'no-U', '--json')
    expect(code).toBe(1)
    expect(jsonLines(stdout)).toMatchObject([{ key: '1-U', modelVersion: 1 }])
    expect((jsonLines(stdout)[0]!['value'] as number[]).length).toBe(10)
    expect(stderr).toContain('no-U: not found in ALS_MODEL (UNKNOWN_KEY)')
  })

  it('prints a hostile key in one line without control characters', async () => {
    const { code, stdout, stderr } = await ask(
      'query',
      'ALS_MODEL',
      'a\nMEAN-U\x1b[2J\u009b2J',
      'MEAN-U',
    )
    expect(code).toBe(1)
    expect(stderr).toMatch(/^a\\nMEAN-U\\x1b\[2J\\x9b2J: not found in ALS_MODEL \(UNKNOWN_KEY\)\n$/)
    expect(stdout).toMatch(/^MEAN-U {2}[\d. -]+\n$/)
  })

  it('fails for a state that is not served', async () => {
    const { code, stderr } = await ask('query', 'SVM', '1')
    expect(code).toBe(1)
    expect(stderr).toContain('UNKNOWN_STATE')
  })
})

describe('weir evaluate', () => {
  it('counts every pair of the file', async () => {
    const { code, stdout } = await ask('evaluate', '--ratings', ratings, '--clip', '1,5', '--json')
    expect(code).toBe(0)
    const [errors] = jsonLines(stdout)
    expect(errors!['rmse']).toBeLessThan(1)
    expect(errors).toMatchObject({ count: 5000, coverage: { known: 5000 } })
    expect((await ask('evaluate', ratings)).stdout).toMatch(/^RMSE +0\.\d{4}/m)
  })

  it('measures again and again with --every, until Ctrl-C', async () => {
    const periodic = ['evaluate', '--ratings', ratings, '--every', '0.1', '--port', port]
    await using process = weir([...periodic, '--data-dir', data])
    await process.printed(
      /( {2}version 1 {2}MSE 0\.\d{4} {2}\(95 %.*, baseline \d\.\d{4}, 5000 ratings\n[\s\S]*){2}/,
    )
    process.signal('SIGINT')
    expect(await process.ended).toMatchObject({ code: 130 })
    expect(await ask('evaluate', ratings, '--every', '0')).toMatchObject({ code: 2 })
  })

  it('fails with 2 when the file is missing', async () => {
    expect(await ask('evaluate', '--ratings', join(folder, 'none'))).toMatchObject({ code: 2 })
    expect(await ask('evaluate')).toMatchObject({ code: 2 })
  })
})

describe('weir topic', () => {
  const inLog = (...args: string[]): string[] => [
    'topic',
    ...args,
    '--data-dir',
    join(folder, 'log'),
  ]

  it('creates, fills, reads and lists a topic', async () => {
    const created = await run(...inLog('create', 'notes', '--partitions', '1', '--json'))
    expect(jsonLines(created.stdout)).toMatchObject([{ topic: 'notes', partitions: 1 }])
    const produce = weir(inLog('produce', 'notes', '--key-separator', ':')).input('a:one\nb:two\n')
    expect(await produce.ended).toMatchObject({ code: 0, stdout: 'appended 2 records to notes\n' })
    const plain = await run(...inLog('consume', 'notes'))
    expect(plain.stdout).toBe('0:0  a  one\n0:1  b  two\n')
    const json = await run(...inLog('consume', 'notes', '--limit', '1', '--json'))
    expect(jsonLines(json.stdout)).toMatchObject([
      { partition: 0, offset: 0, key: 'a', value: 'one' },
    ])
    const listed = await run(...inLog('list', '--json'))
    expect(jsonLines(listed.stdout)).toContainEqual(
      expect.objectContaining({ topic: 'notes', offsets: [{ partition: 0, start: 0, end: 2 }] }),
    )
  })

  it('fails with 1 for a missing topic, with 2 for an unknown policy', async () => {
    const { code, stderr } = await run(...inLog('consume', 'nothing'))
    expect(code).toBe(1)
    expect(stderr).toContain('weir: UNKNOWN_TOPIC')
    expect(await run(...inLog('create', 'x', '--cleanup', 'never'))).toMatchObject({ code: 2 })
  })
})

describe('weir generate als-model', () => {
  it('publishes rows to a topic', async () => {
    const { code, stdout } = await run(
      ...['generate', 'als-model', '--users', '30', '--items', '20', '--factors', '4', '--json'],
      ...['--data-dir', join(folder, 'generated')],
    )
    expect(code).toBe(0)
    expect(jsonLines(stdout)).toMatchObject([{ users: 30, items: 20, factors: 4 }])
  })
})

describe('weir run', () => {
  /** A job module as a user writes it. */
  function jobModule(name: string, text: string): string {
    const path = join(folder, name)
    const weirUrl = pathToFileURL(join(REPOSITORY, 'src/index.ts')).href
    writeFileSync(path, `import { defineJob, LineFileSink } from '${weirUrl}'\n${text}`)
    return path
  }

  it('runs a module of the user to its end, with its options', async () => {
    const path = jobModule(
      'shout.ts',
      `export default defineJob<{ output: string }>({
        name: 'shout',
        build(env, { output }) {
          env.fromElements(['a', 'b']).map((text: string) => text.toUpperCase())
            .sinkTo(new LineFileSink({ directory: output, format: String }))
        },
      })`,
    )
    const output = join(folder, 'shouted')
    const { code, stderr, stdout } = await run(
      ...['run', path, '--port', '0', '--data-dir', join(folder, 'own'), '--json'],
      ...[
        '--option',
        `output=${output}`,
        '-D',
        'state.backend.type=heap',
        '-D',
        'rest.enabled=false',
      ],
    )
    expect(code, stderr).toBe(0)
    expect(jsonLines(stdout).map(({ event }) => event)).toEqual(['started', 'finished'])
  })

  it('reports a module that is not a job, and suggests the most similar job', async () => {
    const { code, stderr } = await run('run', jobModule('none.ts', 'export default defineJob'))
    expect(code).toBe(2)
    expect(stderr).toContain('end it with "export default defineJob(')
    const misspelt = await run('run', 'als-servin')
    expect(misspelt).toMatchObject({ code: 2 })
    expect(misspelt.stderr).toContain('did you mean "als-serving"?')
  })

  it('refuses an unknown configuration key and suggests the most similar one', async () => {
    const { code, stderr } = await run(
      ...['run', 'als-serving', '--data-dir', data, '--port', '0'],
      '-Dexecution.checkpointing.intervall=1s',
    )
    expect(code).toBe(2)
    expect(stderr).toContain('did you mean "execution.checkpointing.interval"?')
  })
})

describe('settings', () => {
  it('come from the flag, then the environment, then weir.yaml in the folder', async () => {
    const cwd = join(folder, 'configured')
    mkdirSync(cwd)
    writeFileSync(join(cwd, 'weir.yaml'), `port: 1\ntimeout: 400\n`)
    const fromFile = await weir(['predict', '1', '2'], { cwd }).ended
    expect(fromFile.stderr).toContain('UNAVAILABLE')
    // The time of the file is for what fails: a busy machine needs longer for an answer.
    const env = { ...PATIENT, WEIR_PORT: port }
    const fromEnv = await weir(['predict', '1', '2'], { cwd, env }).ended
    expect(fromEnv).toMatchObject({ code: 0, stderr: '' })
    const args = ['predict', '1', '2', '--port', port]
    const fromFlag = await weir(args, { cwd, env: { ...env, WEIR_PORT: '2' } }).ended
    expect(fromFlag).toMatchObject({ code: 0 })
  })
})

describe('every verb', () => {
  it('ends without an error when the reader of its output closes the pipe', async () => {
    const script = `'${process.execPath}' '${builtEntry()}' generate ratings --ratings 200000 | head -n 1`
    const { code, stdout, stderr } = await new CommandProcess('sh', ['-c', script]).ended
    expect(code).toBe(0)
    expect(stdout.split('\t')).toHaveLength(4)
    expect(stderr).not.toMatch(/EPIPE|Error/)
  })

  it('prints neither colours nor rewritten lines without a terminal', async () => {
    const env = { NO_COLOR: '' }
    const args = ['generate', 'ratings', '--ratings', '20000', '--output', join(folder, 'more')]
    const { stdout, stderr } = await weir(args, { env }).ended
    expect(stdout + stderr).not.toContain('\x1b')
    expect(readFileSync(join(folder, 'more'), 'utf8').split('\n')).toHaveLength(20_001)
  })

  it('suggests the most similar option', async () => {
    const { code, stderr } = await run('recommend', '1', '--prot', '9069')
    expect(code).toBe(2)
    expect(stderr).toContain('unknown option --prot; did you mean --port?')
  })
})
