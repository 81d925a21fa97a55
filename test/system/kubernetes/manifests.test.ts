import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { needs } from '../../run/needs.ts'
import { npmPackage } from '../../services/npm-package.ts'
import { pythonWith } from '../../services/python-packages.ts'
import { CommandProcess, REPOSITORY, weir } from '../cli/command-process.ts'

const python = await pythonWith('kubernetes-validate==1.37.0')
const keda = await npmPackage('@kubernetes-models/keda', '2.0.0')

/** The oldest and the newest Kubernetes whose schemas are there. */
const VERSIONS = ['1.25', '1.37']

const LEAST = [
  ...['kubernetes', 'render', 'src/job.ts', '--name', 'counts', '--image', 'example.com/counts:1'],
  ...['--brokers', 'kafka:9093'],
]
const PLACE = ['-D', 'execution.checkpointing.dir=s3://bucket/weir']
const SASL = ['--sasl-mechanism', 'SCRAM-SHA-512', '--sasl-username', 'counts']
const SOURCE = ['--lag-group', 'source', '--lag-topic', 'clicks']
/** Command lines that together render each part. */
const FORMS: readonly (readonly string[])[] = [
  [...PLACE, '--autoscaler', 'hpa', ...SOURCE, '--namespace', 'jobs'],
  [
    ...[...PLACE, ...SASL, '--kafka-tls-secret', 'kafka', '--kafka-client-cert'],
    ...['--autoscaler', 'keda', ...SOURCE, '--account-annotation', 'example.com/role=counts'],
  ],
  [
    ...['-D', 'execution.checkpointing.dir=/checkpoints', '--checkpoints-claim', 'nfs'],
    ...['--cpu', '500m', '--option', 'a=on', '--option', 'b=012'],
  ],
]

/** What `weir kubernetes render` prints. */
async function rendered(more: readonly string[]): Promise<string> {
  await using command = weir([...LEAST, ...more])
  const { code, stdout, stderr } = await command.ended
  expect({ code, stderr }).toMatchObject({ code: 0 })
  return stdout
}

/** What is wrong with each text, by the published schemas. */
async function problemsOf(
  texts: readonly string[],
  versions = VERSIONS,
): Promise<readonly (readonly string[])[]> {
  const script = join(import.meta.dirname, 'validate.py')
  const child = spawn(python!, [script], { stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end(JSON.stringify({ versions, texts }))
  const [output] = await Promise.all([textOf(child.stdout), once(child, 'close')])
  return JSON.parse(output)
}

type Json = { [field: string]: unknown }

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Fields whose own fields have any names. */
const MAPS = /^(labels|matchLabels|annotations|stringData|requests|limits|data)$/

/** Copies of an object, each with one field more that no schema knows, in each of its objects. */
function withWrongField(value: unknown, isMap = false): unknown[] {
  if (Array.isArray(value)) {
    return value.flatMap((item, i) => withWrongField(item).map((wrong) => value.with(i, wrong)))
  }
  if (!isObject(value)) return []
  const inner = Object.entries(value).flatMap(([name, item]) => {
    // A Service selects pods by a map, a budget by an object.
    const isInnerMap =
      MAPS.test(name) ||
      (name === 'selector' && 'clusterIP' in value) ||
      (name === 'selector' && 'type' in value)
    return withWrongField(item, isInnerMap).map((wrong) => ({ ...value, [name]: wrong }))
  })
  return isMap ? inner : [{ ...value, replicaz: 3 }, ...inner]
}

describe(
  'the manifests of weir kubernetes render',
  needs(python, 'kubernetes-validate cannot be installed here'),
  () => {
    it('are as the published schemas have them, strictly', async () => {
      const texts = await Promise.all(FORMS.map((form) => rendered(form)))
      expect(await problemsOf(texts)).toEqual(FORMS.map(() => []))
    })

    it('would not be with a wrong field anywhere', async () => {
      const text = await rendered(FORMS[0]!)
      const wrong = parseAllDocuments(text).flatMap((document) => withWrongField(document.toJS()))
      expect(wrong.length).toBeGreaterThan(40)
      const found = await problemsOf(
        wrong.map((manifest) => JSON.stringify(manifest)),
        VERSIONS.slice(-1),
      )
      const passed = wrong.filter((_, i) => found[i]!.length === 0)
      expect(passed).toEqual([])
    })
  },
)

describe(
  'the objects of KEDA',
  needs(keda, '@kubernetes-models/keda cannot be installed here'),
  () => {
    it('are of the published types, which refuse a wrong field', async () => {
      const text = await rendered(FORMS[1]!)
      const objects: Json[] = parseAllDocuments(text)
        .map((document) => document.toJS())
        .filter(({ apiVersion }) => apiVersion === 'keda.sh/v1alpha1')
      expect(objects.map(({ kind }) => kind)).toEqual(['TriggerAuthentication', 'ScaledObject'])
      expect(await typeErrors(objects)).toBe('')
      const [authentication, scaled] = objects
      const wrong = { ...scaled, spec: { ...(scaled!['spec'] as Json), replicaz: 3 } }
      expect(await typeErrors([authentication!, wrong])).toMatch(
        /known properties, and '"replicaz"' does not exist in type 'IScaledObjectSpec'/,
      )
    })
  },
)

/** What the compiler says of objects of KEDA, each a literal of its published type. */
async function typeErrors(objects: readonly Json[]): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'weir-keda-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const source = objects.map((object, i) => {
    const kind = String(object['kind'])
    const module = join(keda!, 'keda.sh/v1alpha1', `${kind}.js`)
    return `import type { I${kind} } from '${module}'\nexport const object${i}: I${kind} = ${JSON.stringify(object)}\n`
  })
  const file = join(folder, 'objects.ts')
  writeFileSync(file, source.join(''))
  await using compiler = new CommandProcess(join(REPOSITORY, 'node_modules/.bin/tsc'), [
    ...['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--ignoreConfig', file],
  ])
  const { stdout, stderr } = await compiler.ended
  return `${stdout}${stderr}`
}
