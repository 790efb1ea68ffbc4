import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { findProgram, missingProgram } from '@gatehouse/local-servers'
import { listMissing } from './servers.js'

describe('the programs that npm cannot bring', () => {
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

  it('are taken from the variable that names them, before the search path', async () => {
    const named = await placeProgram('my-redis')
    await placeProgram('redis-server')

    expect(findProgram('redis-server', { PATH: folder, REDIS_SERVER_BIN: named })).to.equal(named)
  })

  it('are found on the search path under each of their names, if they can be run', async () => {
    await placeProgram('chromium', 0o644)
    const runnable = await placeProgram('chromium-browser')

    expect(findProgram('chromium', { PATH: folder })).to.equal(runnable)
  })

  it('count as missing when the variable names something else than a program', async () => {
    const env = { PATH: folder, NATS_SERVER_BIN: join(folder, 'nothing') }
    await placeProgram('nats-server')

    expect(listMissing(['nats-server'], env)).to.deep.equal(['nats-server'])
    expect(missingProgram('nats-server', env)).to.include(`NATS_SERVER_BIN=${env.NATS_SERVER_BIN}`)
  })

  it('come with the remedy when they are missing', () => {
    const message = missingProgram('redis-server', {})

    expect(message).to.match(/redis-server is missing: .*apt-get install redis-server.*REDIS_SERVER_BIN/)
  })
})
