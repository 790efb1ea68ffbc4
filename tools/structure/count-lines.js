// npm run lines: the lines of TypeScript and JavaScript that are no tests, by folder, and the files of each flow in docs/flows.md.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../setup/project.js'

const isTest = /\.test\.tsx?$|(^|\/)test\/|^libs\/test-kit\/|^bench\//
const listed = execFileSync('git', ['ls-files', '*.ts', '*.tsx', '*.js'], { cwd: root, encoding: 'utf8' })
const files = listed.split('\n').filter((file) => file && !isTest.test(file))
const folderOf = (file) => /^(?:(?:services|libs|deploy|tools)\/[^/]+(?=\/)|[^/]+(?=\/))/.exec(file)?.[0] ?? '.'
const folders = [...new Set(files.map(folderOf))].sort((one, other) => one.localeCompare(other))

for (const folder of [...folders, 'all']) {
  const found = folder === 'all' ? files : files.filter((file) => folderOf(file) === folder)
  const text = found.map((file) => readFileSync(join(root, file), 'utf8')).join('')
  const counts = [found.length, text.split('\n').length - 1, text.match(/^\s*(?:\/\/|\/\*|\*)/gm)?.length ?? 0]
  const [inFiles, inLines, inComments] = counts.map((count) => String(count).padStart(6))
  console.log(`${folder.padEnd(28)}${inFiles} files${inLines} lines${inComments} of comments`)
}

const sections = readFileSync(join(root, 'docs/flows.md'), 'utf8').split(/^## /m).slice(1)
/** Its first line may name a flow that it starts with. */
function filesOf(section) {
  const [, start] = /\n\n.*\(#(.+?)\)/.exec(section) ?? []
  const before = sections.filter((other) => other.toLowerCase().replaceAll(' ', '-').startsWith(`${start}\n`))
  const own = [...section.matchAll(/\]\(([^)]+\.ts)\)/g)].map(([, file]) => file)
  return new Set([...before.flatMap((other) => [...filesOf(other)]), ...own])
}
for (const section of sections) console.log(`${section.split('\n', 1)[0].padEnd(46)}${filesOf(section).size} files`)
