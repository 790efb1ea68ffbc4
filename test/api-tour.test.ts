import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { documentedScript } from '@gatehouse/test-kit'
import { startInstance } from './instance.ts'

const run = promisify(execFile)

describe('the steps of docs/tutorials/api-tour.md', () => {
  it('work as printed', async () => {
    await using instance = await startInstance()
    const steps = [
      documentedScript('docs/tutorials/api-tour.md', 'register'),
      documentedScript('docs/tutorials/api-tour.md', 'invite'),
      documentedScript('docs/tutorials/api-tour.md', 'revoke'),
      documentedScript('docs/tutorials/api-tour.md', 'administer'),
      documentedScript('docs/tutorials/api-tour.md', 'delete'),
    ]
    const script = steps
      .join('\n')
      .replace('http://localhost:8080', instance.url)
      .replace(/^curl -s/gm, 'echo; curl -sS')

    const { stdout } = await run('bash', ['-eu', '-c', script])

    const answers = stdout.trim().split('\n').filter(Boolean)
    const [registered, self, settings, refused, profile, reset, audit, promoted, reopened, deleted, gone] = answers.map(
      (line) => JSON.parse(line) as Record<string, unknown>,
    )
    expect(registered?.user).to.include({ username: 'ada', isAdmin: true })
    expect(self).to.include({ username: 'ada' })
    expect(settings).to.include({ registrationOpen: false })
    expect(refused).to.deep.equal({ error: 'Token has been revoked', statusCode: 401, code: 'token_revoked' })
    expect(profile).to.include({ displayName: 'Ada', bio: 'First of the house' })
    expect(reset?.temporaryPassword).to.have.length(16)
    expect(audit?.entries).to.have.length(3)
    expect(promoted).to.include({ username: 'bob', isAdmin: true })
    expect(reopened).to.include({ registrationOpen: true })
    expect(deleted).to.deep.equal({ success: true })
    expect(gone).to.deep.equal({ error: 'Invalid username or password', statusCode: 401, code: 'invalid_credentials' })
  })
})
