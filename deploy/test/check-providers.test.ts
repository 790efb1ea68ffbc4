import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startIdentityProvider } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { runArguments } from './run-arguments.ts'

describe('gatehouse check of identity providers', () => {
  let folder: string
  before(async () => void (folder = await mkdtemp(join(tmpdir(), 'check-providers-'))))
  after(async () => await rm(folder, { recursive: true }))

  async function check(providers: object[] | '' | undefined): Promise<string> {
    const file = join(folder, 'providers.json')
    await writeFile(file, providers === '' ? '' : JSON.stringify({ providers }))
    const elsewhere = { IDENTITY_URL: 'http://127.0.0.1:1', PUBLIC_ORIGIN: 'http://127.0.0.1:1' }
    const given = {
      ...(providers !== undefined && { GATEHOUSE_PROVIDERS: file }),
      FEDERATION_ALLOW_PRIVATE: 'loopback',
    }
    const { output } = await runArguments(['check', '--json'], { ...elsewhere, ...given })
    const { checks } = JSON.parse(output) as { checks: { check: string; ok: boolean | null; detail: string }[] }
    const found = checks.find((one) => one.check === 'identity providers')
    return `${found?.ok} ${found?.detail}`
  }

  it('asks each what it says of itself, and names those that fail', async () => {
    await using provider = await startIdentityProvider({ accounts: [] })
    const entry = (id: string, issuer: string) => ({ id, name: id, issuer, clientId: 'a', clientSecret: 'never shown' })
    const good = entry('good', provider.issuer)
    const findings = {
      none: await check(undefined),
      good: await check([good]),
      gone: await check([good, entry('gone', 'http://127.0.0.1:1')]),
      file: await check([{ ...good, issuer: 'login.example' }]),
      empty: await check(''),
      slash: await check([{ ...good, issuer: `${provider.issuer}/` }]),
      path: await check([{ ...good, issuer: `${provider.issuer}/pupils` }]),
    }
    provider.depart.metadata = (metadata) => ({ ...metadata, issuer: 'https://other.example' })
    const other = await check([good])

    expect(findings).to.include({ none: 'null not configured here', good: 'true good: each answers as its issuer' })
    expect(findings.gone).to.match(/^false gone: .*127\.0\.0\.1:1 cannot be reached/)
    expect(findings.empty).to.equal('false GATEHOUSE_PROVIDERS: must have a list `providers:`')
    expect(findings.slash).to.equal(`false good: the provider calls itself "${provider.issuer}"`)
    expect(findings.path).to.match(/^false good: .*\/pupils\/\.well-known\/openid-configuration was answered with 404$/)
    expect(findings.file).to.match(/^false providers\[0\]\.issuer: must be an https URL/)
    expect(other).to.equal('false good: the provider calls itself "https://other.example"')
    expect(JSON.stringify([findings, other])).to.not.include('never shown')
  })
})
