import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { copyPostgresData, freePort, killTree, watchProcess } from '@gatehouse/local-servers'
import { documentedCommand, eventually, runData, runDataPassword, testCallerKeys } from '@gatehouse/test-kit'
import { loadOrCreateSecrets } from '../embedded/data-folder.ts'
import { programArguments } from '../../tools/setup/build-programs.js'
import { scripts } from '../../tools/setup/scripts.js'

const projectRoot = resolve(import.meta.dirname, '../..')
type Manifest = { scripts: Record<string, string> }
const manifest = JSON.parse(readFileSync(resolve(projectRoot, 'package.json'), 'utf8')) as Manifest

export type ProgramExit = { code: number | null; stdout: string; stderr: string }

/** What a program has beside the given variables: that of an operator's shell, and what makes a start quick. */
const inherited = ['PATH', 'HOME', 'NODE_COMPILE_CACHE', 'GATEHOUSE_PROGRAMS']

/** Runs a program of the project, built where it has been built. */
export function startProgram(file: string, environment: Record<string, string>, args: string[] = []) {
  const own = Object.fromEntries(inherited.map((name) => [name, process.env[name] ?? '']))
  const flags = ['--disable-warning=ExperimentalWarning', ...programArguments(file), ...args]
  const child: ChildProcess = spawn(process.execPath, flags, {
    cwd: projectRoot,
    env: { ...own, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  watchProcess(child.pid!, 'SIGKILL')
  const output = { stdout: '', stderr: '' }
  child.stdout!.on('data', (chunk) => (output.stdout += String(chunk)))
  child.stderr!.on('data', (chunk) => (output.stderr += String(chunk)))
  const exited: Promise<ProgramExit> = once(child, 'close').then(([code]) => ({
    code: code as number | null,
    ...output,
  }))
  return {
    pid: child.pid!,
    child,
    output,
    exited,
    /** Waits until standard output matches, and gives the match. */
    waitForOutput: (pattern: RegExp): Promise<string> => {
      const matched = eventually(`${file} prints ${pattern}`, () => pattern.exec(output.stdout)?.[0], 90_000)
      const failed = exited.then(({ code, stderr }) => {
        throw new Error(`${file} exited with ${code}: ${stderr}`)
      })
      return Promise.race([matched, failed])
    },
    signal: (name: NodeJS.Signals) => child.kill(name),
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) await killTree(child.pid!)
    },
  }
}

export const uploadsIn = (folder: string) => ({ uploadDir: folder, uploadStore: { folder } })

/** What every distributed process needs beside its servers, for one that nothing calls; it listens on free ports. */
export function processEnvironment(secret: string): Record<string, string> {
  const elsewhere = 'http://127.0.0.1:1'
  return {
    HOST: '127.0.0.1',
    OPS_HOST: '127.0.0.1',
    OPS_PORT: '0',
    PORT: '0',
    IDENTITY_PORT: '0',
    INVITE_PORT: '0',
    SESSION_GATEWAY_PORT: '0',
    FEDERATION_FANOUT_PORT: '0',
    OPENID_PORT: '0',
    IDENTITY_URL: elsewhere,
    INVITE_URL: elsewhere,
    SESSION_GATEWAY_URL: elsewhere,
    FEDERATION_FANOUT_URL: elsewhere,
    OPENID_URL: elsewhere,
    PUBLIC_ORIGIN: 'http://localhost:8080',
    UPLOAD_DIR: '/tmp',
    JWT_SECRET: secret,
    INTERNAL_SECRET: secret,
    CALLER_KEYS: testCallerKeys.lines.join('\n'),
    ENCRYPTION_SECRET: secret,
  }
}

/** The messages of a failed start: each is a line of the log, as all lines of a process are. */
export function readStartErrors(stderr: string): string[] {
  const lines = stderr.trim().split('\n').filter(Boolean)
  return lines.map((line) => {
    const { level, msg } = JSON.parse(line) as { level: string; msg: string }
    return level === 'fatal' ? msg : line
  })
}

/** Runs a command of `documentedCommand` as npm does. What it sets counts over `environment`. */
export function startDocumented(command: string, environment: Record<string, string> = {}) {
  const { variables, file, args } = readCommand(command)
  return startProgram(file, { ...environment, ...variables }, args)
}

/** `NAME=value npm start`, `npm run <script> -- <arguments>` or `gatehouse <arguments>`. */
export function readCommand(command: string) {
  const words = command.split(' ').filter((word) => !['--', '--silent'].includes(word))
  const at = words.findIndex((word) => !/^[A-Z_]+=/.test(word))
  const variables = Object.fromEntries(words.slice(0, at).map((word) => word.split(/=(.*)/s).slice(0, 2)))
  const [script = '', ...args] = words
    .slice(at)
    .join(' ')
    .replace(/^npm (run )?/, '')
    .split(' ')
  return { variables: variables as Record<string, string>, file: programOf(script), args }
}

/** The program of a script of package.json. Throws where it runs none of this project. */
export function programOf(script: string): string {
  const [, program = '', launched] = /^node (\S+)(?: (\S+))?$/.exec(manifest.scripts[script] ?? '') ?? []
  if (launched !== undefined) return scripts[launched as keyof typeof scripts].file
  if (!program) throw new Error(`npm run ${script} runs no program of this project`)
  return program
}

export const embeddedMain = scripts.start.file

type Environment = Record<string, string>
type Program = ReturnType<typeof startProgram>

/** The whole way, from an empty folder. */
export const startFromNothing = (dataFolder: string) =>
  startOn({ GATEHOUSE_DATA: dataFolder }, (environment) => startDocumented(documentedCommand('npm start'), environment))

/** What `npm start` runs, with quick hashing. A new data folder has the data of `runData`, and secrets of its own. */
export async function startInstance(dataFolder: string, environment: Environment = {}) {
  if (!existsSync(join(dataFolder, 'database'))) await fillDataFolder(dataFolder)
  const start = (variables: Environment) => startProgram('deploy/test-programs/embedded.ts', variables)
  return await startOn({ GATEHOUSE_DATA: dataFolder, ...environment }, start)
}

/** On a free port, unless the environment names one. */
async function startOn(environment: Environment, start: (environment: Environment) => Program) {
  const PORT = environment['PORT'] ?? String(await freePort())
  const program = await whenStarted(start({ ...environment, PORT }))
  return { ...program, url: `http://127.0.0.1:${PORT}` }
}

/** Once it answers. One that does not is ended, since the next one could not have its data folder. */
export async function whenStarted(program: Program): Promise<Program> {
  await using opening = new AsyncDisposableStack()
  opening.use(program)
  await program.waitForOutput(/Ctrl-C stops (all of )?it/)
  opening.move()
  return program
}

/** For a start that finds the data of `runData`, with secrets of its own. */
export async function fillDataFolder(dataFolder: string): Promise<void> {
  const secrets = { ...loadOrCreateSecrets(dataFolder), databasePassword: runDataPassword }
  writeFileSync(join(dataFolder, 'secrets.json'), JSON.stringify(secrets))
  await copyPostgresData(await runData(), join(dataFolder, 'database'))
}

export async function postJson(url: string, body: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}
