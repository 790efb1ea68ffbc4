import { execFile, execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { documentedCommand } from '@gatehouse/test-kit'
import { readCommand } from '../../../deploy/test/program.ts'
import { root } from '../../setup/project.js'

type Run = { code: number; output: string }

export const committedAt = '2026-01-02T03:04:05Z'
const identity = ['-c', 'user.name=A person', '-c', 'user.email=person@example.org', '-c', 'commit.gpgsign=false']

export function git(folder: string, ...args: string[]): string {
  const dates = { GIT_AUTHOR_DATE: committedAt, GIT_COMMITTER_DATE: committedAt }
  return execFileSync('git', [...identity, ...args], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, ...dates },
  })
}

/** `npm run release` in a folder, as the pages have it. */
export const release = (folder: string, ...args: string[]): Promise<Run> =>
  runRelease(folder, documentedCommand('npm run release'), { args })

/** `path` comes first on the PATH. */
export function runRelease(folder: string, command: string, { args = [] as string[], path = '' } = {}): Promise<Run> {
  const { file, args: documentedArgs } = readCommand(command)
  const flags = ['--disable-warning=ExperimentalWarning', join(folder, file), ...documentedArgs, ...args]
  const env = { ...process.env, BUILDAH_BIN: '', PATH: [path, process.env.PATH].filter(Boolean).join(delimiter) }
  return new Promise((resolve) => {
    execFile(process.execPath, flags, { cwd: folder, env }, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code) : 0, output: `${stdout}${stderr}` }),
    )
  })
}

/** The files as they stand here, as the only commit of a clone, and its packages. */
function cloneHere(folder: string): void {
  const listed = execFileSync('git', ['ls-files', '-z', '-co', '--exclude-standard'], { cwd: root, encoding: 'utf8' })
  for (const file of listed.split('\0').filter(Boolean)) {
    mkdirSync(join(folder, dirname(file)), { recursive: true })
    cpSync(join(root, file), join(folder, file), { recursive: true, verbatimSymlinks: true })
  }
  git(folder, 'init', '--quiet')
}

/** Links need no room, where the folder is on the disk of the project. */
const linkPackages = (folder: string): unknown => execFileSync('cp', ['-al', join(root, 'node_modules'), folder])

export const version = (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }).version

export const names = [
  'SHA256SUMS',
  'provenance.json',
  'THIRD-PARTY-LICENSES.txt',
  'notes.md',
  'gatehouse.cdx.json',
  `gatehouse-chart-${version}.tgz`,
  `gatehouse-kustomize-${version}.tar.gz`,
  `gatehouse-client-${version}.tgz`,
  `gatehouse-upstream-${version}.tgz`,
]

export const released = (folder: string): string => join(folder, '.gatehouse/release', version)

const digestOf = (body: Buffer): string => `sha256:${createHash('sha256').update(body).digest('hex')}`

/** The digest of each file of the release. */
export const listReleased = (folder: string) =>
  Object.fromEntries(
    readdirSync(released(folder)).map((name) => [name, digestOf(readFileSync(join(released(folder), name)))]),
  )

/** A folder for clones, on the disk of the project. */
export function makeParent(scope: AsyncDisposableStack): string {
  mkdirSync(join(root, '.gatehouse'), { recursive: true })
  const parent = mkdtempSync(join(root, '.gatehouse/release-test-'))
  scope.defer(() => rmSync(parent, { recursive: true, force: true }))
  return parent
}

/** What the release of now would be, in no commit yet, in files that their owner alone may read. */
export function makeClone(folder: string): void {
  cloneHere(folder)
  execFileSync('chmod', ['-R', 'go=', folder])
  linkPackages(folder)
  const changes = readFileSync(join(folder, 'CHANGELOG.md'), 'utf8')
  if (!changes.includes(`\n## ${version}\n`))
    writeFileSync(join(folder, 'CHANGELOG.md'), changes.replace('\n## Unreleased\n', `\n## ${version}\n`))
}

export function commitAll(folder: string): void {
  git(folder, 'add', '--all')
  git(folder, 'commit', '--quiet', '--message', 'The sources')
}

/** The commit of `from`, with files that everybody may read. */
export function cloneFrom(from: string, folder: string): void {
  execFileSync('sh', ['-c', 'umask 022; git clone --quiet "$0" "$1"', from, folder])
  linkPackages(folder)
}
