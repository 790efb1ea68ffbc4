import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { embeddedMain, readStartErrors, startInstance, startProgram } from './program.ts'

describe('npm start prints one line that names the variable, and exits with 1, on', function () {
  this.timeout(200_000)
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-embedded-'))
  })
  afterEach(() => rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }))

  async function startError(environment: Record<string, string>): Promise<string> {
    const { code, stderr } = await startProgram(embeddedMain, { GATEHOUSE_DATA: folder, PORT: '0', ...environment })
      .exited
    expect(code).to.equal(1)
    const messages = readStartErrors(stderr)
    expect(messages, stderr).to.have.length(1)
    return messages[0]!
  }

  it('a port that is taken', async () => {
    await using other = await startInstance(join(folder, 'other'))
    const port = new URL(other.url).port

    expect(await startError({ PORT: port })).to.match(new RegExp(`^PORT: port ${port} .*taken`))
  })

  it('a data folder that cannot be written', async () => {
    await writeFile(join(folder, 'file'), '')

    expect(await startError({ GATEHOUSE_DATA: join(folder, 'file', 'below') })).to.match(/^GATEHOUSE_DATA: cannot/)
  })

  it('a data folder that a running instance uses', async () => {
    await using other = await startInstance(folder)

    expect(await startError({})).to.match(new RegExp(`^GATEHOUSE_DATA: .* in use by process ${other.pid}; stop it`))
    expect((await fetch(`${other.url}/api/health`)).status).to.equal(200)
  })

  it('data that were created with other secrets', async () => {
    await using first = await startInstance(folder)
    first.signal('SIGTERM')
    await first.exited
    await rm(join(folder, 'secrets.json'))

    expect(await startError({})).to.match(/^GATEHOUSE_DATA: .*made with other secrets; put its secrets\.json back/)
  })

  it('a malformed variable', async () => {
    expect(await startError({ REGISTRATION_OPEN: 'perhaps' })).to.match(/^REGISTRATION_OPEN: must be true or false/)
    expect(await startError({ PORT: 'eighty' })).to.match(/^PORT: must be a port number/)
    expect(await startError({ JWT_SECRET: 'short' })).to.match(/^JWT_SECRET: must have at least 32 characters/)
  })
})
