import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { findProgram, missingProgram } from '@gatehouse/local-servers'
import { listMissing } from './programs.js'

describe('programs that are not npm packages', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-programs-'))
  })
  afterEach(() => rm(folder, { recursive: true }))

  async function placeProgram(name: string, mode = 0o755): Promise<string> {
    const path = join(folder, name)
    await writeFile(path, '#!/bin/sh\n')
    await chmod(path, mode)
    return path
  }

  it('are taken from their variable before PATH', async () => {
    const program = await placeProgram('my-redis')
    await placeProgram('redis-server')

    expect(findProgram('redis-server', { PATH: folder, REDIS_SERVER_BIN: program })).to.equal(program)
  })

  it('are found on PATH under each of their names, if they are executable', async () => {
    await placeProgram('chromium-headless-shell', 0o644)
    const executable = await placeProgram('chromium')

    expect(findProgram('chromium-headless-shell', { PATH: folder })).to.equal(executable)
  })

  it('are missing when their variable names no executable file', async () => {
    const env = { PATH: folder, NATS_SERVER_BIN: join(folder, 'nothing') }
    await placeProgram('nats-server')

    expect(listMissing(['nats-server'], env)).to.deep.equal(['nats-server'])
    expect(missingProgram('nats-server', env)).to.include(`NATS_SERVER_BIN=${env.NATS_SERVER_BIN}`)
  })

  it('are reported as missing with the remedy', () => {
    const message = missingProgram('redis-server', {})

    expect(message).to.match(/redis-server is missing: .*apt-get install redis-server.*REDIS_SERVER_BIN/)
  })
})
