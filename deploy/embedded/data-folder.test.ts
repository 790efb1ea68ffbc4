import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { loadOrCreateSecrets, replaceSecrets } from './data-folder.ts'

const ofBackup = { jwtSecret: 'j'.repeat(48), internalSecret: 'i'.repeat(48), encryptionSecret: 'e'.repeat(48) }

describe('the secrets of a data folder', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'gatehouse-secrets-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  it('are made once, for their owner alone', () => {
    const first = loadOrCreateSecrets(folder)

    expect(loadOrCreateSecrets(folder)).to.deep.equal(first)
    expect(statSync(join(folder, 'secrets.json')).mode & 0o777).to.equal(0o600)
  })

  it('that are not complete are refused, and stay', () => {
    const file = join(folder, 'secrets.json')
    writeFileSync(file, JSON.stringify(ofBackup))

    expect(() => loadOrCreateSecrets(folder)).to.throw('check that the folder is writable and the file is complete')
    expect(JSON.parse(readFileSync(file, 'utf8'))).to.deep.equal(ofBackup)
  })

  it('take those of a backup, and keep the operator’s and the password of the database', () => {
    const { operatorSecret, databasePassword } = loadOrCreateSecrets(folder)

    replaceSecrets(folder, ofBackup)

    expect(loadOrCreateSecrets(folder)).to.deep.equal({ ...ofBackup, operatorSecret, databasePassword })
    expect(statSync(join(folder, 'secrets.json')).mode & 0o777).to.equal(0o600)
  })
})
