import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { campaignSize } from '../../run/campaign-size.ts'
import { commitSeed } from '../../services/commit-seed.ts'
import { installPackage } from './installed-package.ts'
import { commandsOf, guidePage } from './page-commands.ts'
import { runPage } from './page-session.ts'

/** What a page assumes to be there before its first command. */
const BEFORE: Readonly<Record<string, string>> = {
  'serving.md': '',
  'evaluation.md': `
    weir generate ratings --users 400 --items 200 --ratings 45000 --output all.data
    head -42000 all.data > u1.base
    tail -3000 all.data > u1.test`,
  'retraining.md': `
    weir generate ratings --users 400 --items 200 --ratings 45000 --output all.data
    head -42000 all.data > u1.base
    tail -3000 all.data > u1.test`,
  'gateway.md': `
    weir generate ratings --users 1600 --items 200 --ratings 20000 --output all.data
    weir train als --factors 4 --iterations 2 --threads 0 --ratings all.data
    { echo 1592,25,5; awk 'NR < 500 { print $1 "," $2 "," $3 }' all.data; } > ratings.csv`,
  'svm.md': `
    weir generate svm-examples --features 124 --examples 6000 --non-zeros 14 --output all.svm
    head -4000 all.svm > a9a
    tail -2000 all.svm > a9a.t`,
  'training.md': `
    weir generate ratings --users 400 --items 200 --ratings 45000 --output all.data
    head -42000 all.data > u1.base
    tail -3000 all.data > u1.test
    weir generate svm-examples --features 124 --examples 4000 --non-zeros 14 --output a9a`,
  'online-learning.md': '',
  'checkpoints.md': '',
  'backup.md': '',
  'erasure.md': '',
  'sizing.md': '',
  'damage.md': `
    weir topic create t
    echo record | weir topic produce t`,
  'load.md': '',
  'install.md': '',
  'pipelines.md': '',
  'jobs.md': '',
  'security.md': '',
  'upgrade.md': `
    weir generate als-model --users 200 --items 100 --factors 16
    weir cluster start
    weir learn als -d -D execution.checkpointing.interval=2s`,
  'versions.md': `
    weir generate ratings --users 60 --items 40 --ratings 2400 --output all.data
    head -2000 all.data > most.data
    head -100 all.data > few.data
    tail -400 all.data > golden.data
    train() { weir train als --factors 4 --iterations 2 --threads 0 --ratings "$1"; }
    train most.data
    weir model list
    train all.data
    train few.data
    weir model promote 2 --force 'the page has it live'
    weir run als-serving > job.log 2>&1 &
    wait_for job.log 'is live'`,
}

/** Pages whose commands take ten seconds of processor time, more or less. */
const LONG = [
  'retraining.md',
  'gateway.md',
  'svm.md',
  'training.md',
  'checkpoints.md',
  'backup.md',
  'sizing.md',
  'load.md',
  'upgrade.md',
  'versions.md',
]

/** The short part has all other pages and every third long one, by the seed. CI has every second one in each sixth commit. */
const PAGES = Object.keys(BEFORE).filter((name) => {
  const place = LONG.indexOf(name)
  const isEvery = (count: number): boolean => place === -1 || place % count === commitSeed() % count
  return campaignSize(isEvery(3), true, isEvery(2))
})

/** The project with the job of another page of the guide. */
function makeVisitsProject(project: string): void {
  installPackage(project)
  const [, source] = /^`visits\.ts`:\n\n```ts\n([\s\S]*?)^```$/m.exec(guidePage('jobs.md'))!
  writeFileSync(join(project, 'visits.ts'), source!)
  writeFileSync(join(project, 'package.json'), '{"type":"module"}')
}

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-pages-'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

it.each(PAGES)('docs/guide/%s: its commands run, one after the other', async (name) => {
  const commands = commandsOf(guidePage(name))
  expect(commands).not.toEqual([])
  const session = join(folder, name)
  if (['checkpoints.md', 'jobs.md'].includes(name)) makeVisitsProject(session)
  await runPage(commands, { folder: session, before: BEFORE[name] as string })
})
