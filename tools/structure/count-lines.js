// npm run lines: the lines of TypeScript and JavaScript that are no tests, by folder. docs/contributing.md, "Lines".
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../setup/project.js'

const isTest = /\.test\.tsx?$|(^|\/)test\/|^libs\/test-kit\/|^bench\//
const listed = execFileSync('git', ['ls-files', '*.ts', '*.tsx', '*.js'], { cwd: root, encoding: 'utf8' })
const files = listed.split('\n').filter((file) => file && !isTest.test(file))

/** @type {Map<string, { files: number, lines: number, comments: number }>} */
const folders = new Map()
for (const file of files) {
  const folder = /^(?:(?:services|libs|deploy|tools)\/[^/]+(?=\/)|[^/]+(?=\/))/.exec(file)?.[0] ?? '.'
  const text = readFileSync(join(root, file), 'utf8')
  const counts = folders.get(folder) ?? { files: 0, lines: 0, comments: 0 }
  counts.files += 1
  counts.lines += text.split('\n').length - 1
  counts.comments += text.match(/^\s*(?:\/\/|\/\*|\*)/gm)?.length ?? 0
  folders.set(folder, counts)
}
const sum = (/** @type {'files' | 'lines' | 'comments'} */ key) =>
  [...folders.values()].reduce((total, counts) => total + counts[key], 0)
const rows = [...folders].sort(([one], [other]) => one.localeCompare(other))
rows.push(['all', { files: sum('files'), lines: sum('lines'), comments: sum('comments') }])
for (const [folder, { files, lines, comments }] of rows) {
  const [inFiles, inLines, inComments] = [files, lines, comments].map((count) => String(count).padStart(6))
  console.log(`${folder.padEnd(28)}${inFiles} files${inLines} lines${inComments} of comments`)
}
