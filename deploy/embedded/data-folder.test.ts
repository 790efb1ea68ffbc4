import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { loadOrCreateSecrets, replaceSecrets } from './data-folder.ts'

const of020 = { jwtSecret: 'j'.repeat(48), internalSecret: 'i'.repeat(48), databasePassword: 'd'.repeat(24 + 8) }

describe('the secrets of a data folder', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'gatehouse-secrets-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  it('of 0.2.0 get an encryptionSecret once, and keep what they have', () => {
    writeFileSync(join(folder, 'secrets.json'), JSON.stringify(of020))

    const first = loadOrCreateSecrets(folder)

    expect(first).to.deep.include(of020).and.to.have.property('encryptionSecret').with.length.of.at.least(32)
    expect(loadOrCreateSecrets(folder)).to.deep.equal(first)
    expect(statSync(join(folder, 'secrets.json')).mode & 0o777).to.equal(0o600)
  })

  it('restored from a backup of 0.2.0 keep the encryptionSecret of the folder, others take that of the backup', () => {
    const { encryptionSecret, operatorSecret, databasePassword } = loadOrCreateSecrets(folder)
    const { jwtSecret, internalSecret } = of020

    replaceSecrets(folder, { jwtSecret, internalSecret })
    expect(loadOrCreateSecrets(folder)).to.deep.equal({
      jwtSecret,
      internalSecret,
      encryptionSecret,
      operatorSecret,
      databasePassword,
    })

    replaceSecrets(folder, { jwtSecret, internalSecret, encryptionSecret: 'e'.repeat(48) })
    expect(loadOrCreateSecrets(folder).encryptionSecret).to.equal('e'.repeat(48))
  })
})
