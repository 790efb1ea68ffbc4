import type { RemoteInstance } from '@gatehouse/client'
import { expect } from 'chai'
import { findElsewhere, mergeRegistry, type RegistryEntry } from './registry.ts'

const entry: RegistryEntry = {
  origin: 'https://b.example',
  label: 'B',
  username: 'ada@home.example',
  remoteUserId: '7',
  status: 'connected',
  addedAt: 1,
  lastConnectedAt: 1,
  disconnectedAt: null,
  errorMessage: null,
}
const remote = {
  origin: 'https://b.example',
  username: 'ada@home.example',
  state: 'connected',
  user: { id: '7' },
} as unknown as RemoteInstance

describe('the registry of connected instances', () => {
  it('stays as it is when it says already what this client knows', () => {
    expect(mergeRegistry([entry], [remote], 5)).to.equal(null)
    expect(mergeRegistry([entry], [{ ...remote, state: 'needs_password' }], 5)).to.equal(null)
    expect(mergeRegistry([], [{ ...remote, state: 'connecting' }], 5)).to.equal(null)
  })

  it('takes in a new connection, keeps the others, and keeps when and under which label one was added', () => {
    const other = { ...entry, origin: 'https://c.example' }
    const lost = { ...entry, status: 'auth_expired' as const, errorMessage: 'gone' }

    expect(mergeRegistry([other], [remote], 5)).to.deep.equal([
      other,
      { ...entry, label: '', addedAt: 5, lastConnectedAt: 5 },
    ])
    expect(mergeRegistry([lost, other], [remote], 5)).to.deep.equal([other, { ...entry, lastConnectedAt: 5 }])
  })

  it('names the instances that only other clients are connected to', () => {
    const other = { ...entry, origin: 'https://c.example' }

    expect(findElsewhere([entry, other], [remote], 'https://home.example')).to.deep.equal([other])
    expect(findElsewhere([entry], [], 'https://b.example')).to.deep.equal([])
  })
})
