import { rm, writeFile } from 'node:fs/promises'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect } from 'chai'
import { createDataFolder, removeFolder } from '@gatehouse/test-kit'
import { startInstance as startInThisProcess } from '../../test/instance.ts'
import { readConfig } from '../embedded/config.ts'
import { openPostgres } from '../embedded/data-folder.ts'
import { embeddedMain, fillDataFolder, readStartErrors, startInstance, startProgram } from './program.ts'
import { faultOf } from './start-faults.ts'

describe('npm start prints one line that names the variable, and exits with 1, on', () => {
  let folder: string
  beforeEach(async () => {
    folder = await createDataFolder()
  })
  afterEach(() => removeFolder(folder))

  /** Of a start in this process. The next test has a process. */
  const settingFault = (environment: Record<string, string>) =>
    faultOf(() => readConfig({ GATEHOUSE_DATA: folder, PORT: '0', ...environment }))

  it('a data folder that a running instance uses', async () => {
    await using other = await startInstance(folder)

    const { code, stderr } = await startProgram(embeddedMain, { GATEHOUSE_DATA: folder, PORT: '0' }).exited
    const [line, ...others] = readStartErrors(stderr)

    expect([code, others]).to.deep.equal([1, []])
    expect(line).to.match(new RegExp(`^GATEHOUSE_DATA: .* in use by process ${other.pid}; stop it`))
    expect((await fetch(`${other.url}/api/health`)).status).to.equal(200)
  })

  it('a port that is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const port = String((other.address() as AddressInfo).port)

    const line = await faultOf(() => startInThisProcess({ HOST: '127.0.0.1', PORT: port }))
    other.close()

    expect(line).to.match(new RegExp(`^PORT: port ${port} .*taken`))
  })

  it('a data folder that cannot be written', async () => {
    await writeFile(join(folder, 'file'), '')

    expect(await settingFault({ GATEHOUSE_DATA: join(folder, 'file', 'below') })).to.match(/^GATEHOUSE_DATA: cannot/)
  })

  it('data that were created with other secrets', async () => {
    const openData = async () => {
      const { databasePassword: password } = readConfig({ GATEHOUSE_DATA: folder })
      return await openPostgres(folder, { password })
    }
    await fillDataFolder(folder)
    await (await openData())[Symbol.asyncDispose]()
    await rm(join(folder, 'secrets.json'))

    const line = await faultOf(openData)

    expect(line).to.match(/^GATEHOUSE_DATA: .*made with other secrets; put its secrets\.json back/)
  })

  it('a malformed variable', async () => {
    expect(await settingFault({ REGISTRATION_OPEN: 'perhaps' })).to.match(/^REGISTRATION_OPEN: must be true or false/)
    expect(await settingFault({ PORT: 'eighty' })).to.match(/^PORT: must be a port number/)
    expect(await settingFault({ JWT_SECRET: 'short' })).to.match(/^JWT_SECRET: must have at least 32 characters/)
  })
})
