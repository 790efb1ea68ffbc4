import { expect } from 'chai'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { formatAuditEntry } from './format-audit-entry.ts'

describe('formatAuditEntry', () => {
  it('shows an invite by its name, a peer by its host, and the remaining details', () => {
    const invite = {
      action: 'invite.created',
      targetId: '31',
      detail: { name: 'Friends', maxUses: 3, expiresAt: null },
    }
    const peer = { action: 'peer.revoked', targetId: '5', detail: { origin: 'https://b.example' } }

    expect(formatAuditEntry(invite)).to.deep.equal({
      text: '{actor} created invite {target}',
      target: 'Friends',
      details: 'Maximum uses: 3, Expires: never',
    })
    expect(formatAuditEntry(peer)).to.deep.equal({
      text: '{actor} ended the peering with {target}',
      target: 'b.example',
      details: '',
    })
  })

  it('calls what was changed by the names that the pages have for it', () => {
    const detail = { registrationOpen: false, federatedRegistrationOpen: true, autoAcceptPeering: false, maxUses: null }

    const { details } = formatAuditEntry({ action: 'settings.changed', targetId: null, detail })

    expect(details).to.equal(
      'New accounts: invite only, From other instances: allowed, Accept peering requests automatically: no, Maximum uses: no limit',
    )
  })

  it('keeps a text inside its place, and shows the start of a long one', () => {
    const detail = { rules: 'evil \u202egnp.exe', contact: 'שלום', description: '👍'.repeat(201) }

    const { details } = formatAuditEntry({ action: 'settings.changed', targetId: null, detail })

    expect(details).to.equal(`Rules: evil gnp.exe, Contact: \u2068שלום\u2069, Description: ${'👍'.repeat(200)}…`)
  })

  it('has a text for every action that is written down', () => {
    const root = join(import.meta.dirname, '../../../../..')
    const sources = ['services', 'deploy', 'libs'].flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
        .filter((file) => /^(?!web\/).*\.ts$/.test(file) && !/node_modules|\.test\.ts$|(^|\/)(dist|test)\//.test(file))
        .map((file) => readFileSync(join(root, folder, file), 'utf8')),
    )
    const action = /'((?:user|invite|peer|settings|instance|approval-request)\.[a-z]+(?:-[a-z]+)*)'/g
    const written = sources
      .filter((text) => /recordAudit|writeAuditEntry|recordInviteChange|insert into audit_log/.test(text))
      .flatMap((text) => [...text.matchAll(action)].map(([, name = '']) => name))

    expect(written).to.include.members(['user.sessions-ended', 'invite.created', 'peer.rechecked', 'instance.imported'])
    const fallback = (name: string) => `{actor} ${name.replace(/[._-]+/g, ' ')} {target}`
    const textOf = (action: string) => formatAuditEntry({ action, targetId: null, detail: {} }).text
    expect(written.filter((name) => textOf(name) === fallback(name))).to.deep.equal([])
  })

  it('falls back to the id of the target and to the name of the action', () => {
    expect(formatAuditEntry({ action: 'session.not_listed', targetId: '7', detail: {} })).to.deep.equal({
      text: '{actor} session not listed {target}',
      target: '7',
      details: '',
    })
  })
})
