#!/usr/bin/env node
/*
 * `npm create @weirjs FOLDER`: copies the template into a new or empty folder. Plain JavaScript without
 * dependencies, because npm runs it before anything is installed.
 */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const TEMPLATE = join(dirname(fileURLToPath(import.meta.url)), 'template')

/** npm leaves files of these names out of a package, so the template has them without the dot. */
const DOTTED = ['gitignore', 'dockerignore']

const USAGE = `Usage: npm create @weirjs FOLDER

Makes a project in FOLDER: a job in src/, its test, weir.yaml and a Dockerfile.`

/** The name of a package after the name of its folder. */
function packageName(folder) {
  const name = basename(folder)
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replaceAll(/^[._-]+|[._-]+$/g, '')
  return name === '' ? 'weir-job' : name
}

function fail(message) {
  console.error(`create-weir: ${message}`)
  process.exit(2)
}

const words = process.argv.slice(2)
if (words.includes('--help') || words.includes('-h')) {
  console.log(USAGE)
  process.exit(0)
}
const unknown = words.find((word) => word.startsWith('-'))
if (unknown !== undefined) fail(`unknown option ${unknown}\n\n${USAGE}`)
if (words.length !== 1) fail(`name one folder\n\n${USAGE}`)

const folder = resolve(words[0])
if (existsSync(folder) && readdirSync(folder).length > 0) {
  fail(`${folder} is not empty; name a new folder, so that no file of yours is overwritten`)
}
mkdirSync(folder, { recursive: true })
cpSync(TEMPLATE, folder, {
  recursive: true,
  filter: (path) => !DOTTED.includes(basename(path)),
})
for (const name of DOTTED) cpSync(join(TEMPLATE, name), join(folder, `.${name}`))
const file = join(folder, 'package.json')
const settings = JSON.parse(readFileSync(file, 'utf8'))
writeFileSync(file, `${JSON.stringify({ ...settings, name: packageName(folder) }, null, 2)}\n`)

/** A word as a shell reads it. */
function quoted(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

/** How to install Weir: from the file of the checkout that this program is in, if it is in one. */
function installLines() {
  const checkout = dirname(dirname(fileURLToPath(import.meta.url)))
  const file = join(checkout, 'package.json')
  if (!existsSync(file)) return '  npm install'
  const { name, version } = JSON.parse(readFileSync(file, 'utf8'))
  if (name !== '@weirjs/weir') return '  npm install'
  return `  npm install ${quoted(join(checkout, `weirjs-weir-${version}.tgz`))}   # "npm pack" in ${checkout} makes it`
}

console.log(`A job is in ${folder}. Next:

  cd ${quoted(words[0])}
${installLines()}
  npm test                                        # the job's function, under a manual clock
  npx weir topic create visits --partitions 2
  npm start                                       # the job; then, in another terminal:
  echo home | npx weir topic produce visits
  npx weir query VISITS home`)
