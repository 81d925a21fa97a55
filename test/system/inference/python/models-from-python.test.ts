import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { inProcess } from '../../../cli/command-here.ts'
import { needs } from '../../../run/needs.ts'
import { pythonWith } from '../../../services/python-packages.ts'
import { type CommandProcess, weir } from '../../cli/command-process.ts'
import { commandsOf, guidePage } from '../../docs/page-commands.ts'

/*
 * The programs and commands of `models-from-python.md`, as they stand there: what is served answers as the library itself
 * predicts, for all rows in one request, and for each row in a request of its own at once with the others.
 */

const run = promisify(execFile)
const PAGE = guidePage('models-from-python.md')
const PREDICTIONS = resolve('test/system/inference/python/predictions.py')
/** A model computes in floats of 32 bits, and sums up its trees in another order than the library. */
const NEARLY = 1e-4

const [, packages = ''] = /^pip install (.*)$/m.exec(PAGE)!
const python = await pythonWith(...packages.split(' '))

/** A program of the page, by the file that it writes. */
const programs = [...PAGE.matchAll(/^```python\n([\s\S]*?)^```$/gm)].map(([, text]) => {
  const [, name] = /open\("(\w+)\.onnx"/.exec(text!)!
  return { name: name!, text: text! }
})

/** What a library predicts: the labels or numbers of the rows, and of a classifier the probabilities. */
interface Predicted {
  readonly inputs: Readonly<Record<string, readonly unknown[]>>
  readonly predicted: readonly (readonly unknown[])[]
}

interface Answer {
  readonly outputs: readonly {
    readonly shape: readonly number[]
    readonly data: readonly number[]
  }[]
}

describe(
  'models of scikit-learn, LightGBM and XGBoost, with their converters from PyPI',
  needs(python, 'the libraries cannot be installed here'),
  () => {
    let folder: string
    let server: CommandProcess | undefined
    let port = ''
    const known = new Map<string, Predicted>()

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'weir-python-'))
      const files = programs.map(({ name }) => `${name}.py`)
      for (const [n, { text }] of programs.entries()) await writeFile(join(folder, files[n]!), text)
      const words = ['-W', 'ignore', PREDICTIONS, ...files]
      const { stdout } = await run(python!, words, { cwd: folder, maxBuffer: 1 << 26 })
      const lines = stdout.split('\n').filter((line) => line.startsWith('{"inputs"'))
      for (const [n, { name }] of programs.entries())
        known.set(name, JSON.parse(lines[n]!) as Predicted)
      const { inputs } = known.get('people')!
      const first = Object.entries(inputs).map(([name, rows]) => [name, rows.slice(0, 1)])
      await writeFile(join(folder, 'people.json'), JSON.stringify(Object.fromEntries(first)))
    })

    afterAll(async () => {
      await server?.[Symbol.asyncDispose]()
      await rm(folder, { recursive: true, force: true })
    })

    it('are pushed, served and asked with the commands of the guide', async () => {
      const lines = commandsOf(PAGE).flatMap(({ command }) => command.split('\n'))
      const commands = lines.map((line) => line.split(' ').slice(1))
      expect(commands).toHaveLength(7)
      for (const words of commands) {
        if (words[0] === 'run') {
          server = weir([...words, '--port', '0'], { cwd: folder })
          port = (await server.printed(/serving queries on 127\.0\.0\.1:(\d+)/))[1]!
          await server.printed(/4 of 4 models answer/)
          continue
        }
        const where = words[1] === 'push' ? [] : ['--port', port]
        const { code, stdout, stderr } = await weir([...words, ...where], { cwd: folder }).ended
        expect({ words, code, stderr: code === 0 ? '' : stderr }).toMatchObject({ code: 0 })
        if (words[1] === 'status') expect(stdout.match(/requests share runs/g)).toHaveLength(4)
      }
    })

    it.each(programs.map(({ name }) => name))(
      'answer as the library predicts: %s',
      async (name) => {
        const { inputs, predicted } = known.get(name)!
        const rows = Object.values(inputs)[0]!.length
        const all = await answerTo(name, inputs)
        expectPredicted(all, predicted)
        const sample = Array.from({ length: 6 }, (_, i) => Math.floor((i * rows) / 6))
        await Promise.all(
          sample.map(async (row) => {
            const only = Object.entries(inputs).map(([input, values]) => [input, [values[row]]])
            const answer = await answerTo(name, Object.fromEntries(only), `-${row}`)
            expectPredicted(
              answer,
              predicted.map((values) => [values[row]]),
            )
          }),
        )
      },
    )

    async function answerTo(name: string, inputs: object, suffix = ''): Promise<Answer> {
      const file = join(folder, `${name}${suffix}-input.json`)
      await writeFile(file, JSON.stringify(inputs))
      const words = ['infer', name, '--input', file, '--json', '--deadline', '60000']
      const { stdout, stderr } = await inProcess([...words, '--port', port])
      expect(stderr).toBe('')
      return JSON.parse(stdout) as Answer
    }
  },
)

function expectPredicted({ outputs }: Answer, predicted: readonly (readonly unknown[])[]): void {
  expect(outputs).toHaveLength(predicted.length)
  for (const [i, values] of predicted.entries()) {
    const wanted = values.flat(Infinity) as number[]
    const { data, shape } = outputs[i]!
    expect(shape[0]).toBe(values.length)
    expect(data).toHaveLength(wanted.length)
    const far = wanted.filter((value, at) => {
      return !(Math.abs(value - data[at]!) <= NEARLY * Math.max(1, Math.abs(value)))
    })
    expect(far).toEqual([])
  }
}
