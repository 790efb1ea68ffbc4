/** Tests that show a row, beside the checks of this folder: a file, words of the title of a test in it, rows by how they begin. */
export type Evidence = readonly [file: string, title: string, rows: readonly string[]]

const both = (name: string) => `test/federation/reference-${name}.test.ts`
const fanout = (name: string) => `services/federation-fanout/test/${name}.test.ts`
const identity = (name: string) => `services/identity/test/${name}.test.ts`
const client = (name: string) => `libs/client/src/connections/${name}.test.ts`

/** The rows of one section. */
const of = (section: string, ...rows: string[]) => rows.map((row) => `${section} ${row}`)

const headers = of(
  '1.2',
  'X-Federation-Origin',
  'X-Federation-Timestamp',
  'X-Federation-Nonce',
  'X-Federation-Signature',
)

const generations: readonly Evidence[] = [
  [client('sign-ins'), 'is given the issued one at its start', ['0 2026-09-02']],
  [fanout('shared-limits'), 'peer/ensure: what can start no handshake', ['0 2026-09-27']],
  [fanout('sync-peer'), 'for what follows the last one by its id', ['0 2026-09-29']],
]

const conventions: readonly Evidence[] = [
  [fanout('malformed-headers'), 'each header missing, blank, oversized, repeated or malformed', headers],
  ['test/reference-peer/vectors.test.ts', 'answers ${request.status} to', headers],
  [fanout('vectors'), 'answers ${expected} to', headers],
  [fanout('signed-requests'), 'are 400, 413 or 415 when their body is none', ['1.2 Content-Type', '1.5 body']],
  [fanout('peer-states'), 'lookups are limited to sixty a minute', ['1.5 lookup, by-home-id, verify-attach-proof']],
  ['gateway/test/limits.test.ts', 'apply to no other route', ['1.5 all routes without their own limit']],
  ['gateway/test/limits.test.ts', 'are ${requests} in ${windowSeconds} s for', ['1.5 accept']],
  [fanout('shared-limits'), '${limit.requests} of ${path} for each', ['1.5 relay']],
]

const rowsOfOffers = of(
  '2.2',
  'none',
  'pending',
  'awaiting_approval',
  'unreachable',
  'active, needs_attention',
  'rejected by the other side',
  'rejected by its own admin',
  'revoked',
)

const peering: readonly Evidence[] = [
  [both('rows'), 'with its autoAcceptPeering', ['2.1 pending']],
  [both('exchange'), 'becomes unreachable after ten failures', ['2.1 unreachable']],
  [both('exchange'), 'parks when it is noticed', ['2.1 needs_attention']],
  [both('rows'), 'with its autoAcceptPeering', rowsOfOffers],
  [both('rows'), 'is answered as our own row has it', of('2.2', 'active, needs_attention', 'revoked')],
  [both('peering'), 'ends with one secret', ['2.2 409 PEER_HANDSHAKE']],
  [both('peering'), 'and our admin denies: it is told', ['6.1 peer/denied, sent']],
  [fanout('shared-limits'), 'peer/ensure: what can start no handshake', ['6.1 peer/ensure']],
  [both('rows'), 'decides over our row, and whether we offer again', of('2.3', '403 PEER_REVOKED', 'anything else')],
  [fanout('handshake'), 'never gives an active peer another secret', ["2.5 B1's admin initiate"]],
  [both('peering'), 'the same secret is 200 and writes nothing', ["2.5 a placeholder's offer loses"]],
  [both('peering'), 'at our offer: the proof shows', ['2.5 an offer to B loses the 200']],
  [both('peering'), 'ends with one secret', ["2.5 an offer crosses B1's"]],
  [both('exchange'), 'is rotated by us, by hand and when its days are over', ['2.8 when', '6.1 peer/rotate']],
  [both('exchange'), 'is rotated by it: both count', of('2.8', 'B signs afterwards', 'B accepts afterwards')],
]

const exchange: readonly Evidence[] = [
  [fanout('signed-requests'), 'may speak for users of their own host only', ['3.1 403']],
  [fanout('signed-requests'), 'name the spaces that stand in the way', ['3.1 409']],
  [both('exchange'), 'its profiles and presences reach us', of('3.2', 'sent to', 'settled by')],
  [fanout('profiles'), 'go to the peers that the list of instances', ['3.2 also sent']],
  [both('exchange'), 'in one slot for each user', of('3.2', 'queue', 'repeated')],
  [both('exchange'), 'takes no profile of a foreign host', of('3.2', 'dropped by', 'repeated')],
  [fanout('profiles'), 'are a hundred where no limit is named', ['3.3 request']],
  [both('exchange'), 'its first sync gets the profiles that concern it', ['3.3 pulls']],
  [fanout('profiles'), 'come strictly after a time and an id', of('3.3', 'order', '200')],
]

const accounts: readonly Evidence[] = [
  [both('exchange'), 'look ours up by name and by id', ['6.1 users/lookup, by-home-id']],
  [client('sign-ins'), 'is given the issued one at its start', ['4.8 password for other instances']],
  [client('sign-ins'), 'then sets it, after a log-in with the password', ['4.8 password for other instances']],
  [client('connections'), 'then tries login when the answer is 409', ['4.8 tries a login', '5.3 409']],
  [client('sign-ins'), 'logs in once with it after', ['4.8 tries a login']],
  [client('password-propagation'), 'sends the new password to every connected remote', ['4.8 a new password']],
  [identity('federation-credentials'), 'is one for sixteen callers', ['6.1 federation-credential']],
  [identity('registry'), 'takes newer lists only', ['5.3 409', '6.1 peer/ensure']],
  [identity('register-federated'), 'only its own gate decides', ['5.3 403']],
  [identity('register-local'), 'a closed gate requires an invite', ['5.3 403']],
  [identity('register-local'), 'an unusable invite is refused', ['5.3 403']],
  [identity('log-in'), 'gets the same answer for the same work', ['5.3 401']],
  [identity('log-in'), 'says that an account has been deleted', ['5.3 401']],
  [identity('change-password'), 'wants the current password of a local user', ['5.3 403']],
  [identity('delete-account'), 'requires the password of local users', ['5.3 403']],
  [identity('delete-account'), 'refuses the owner of spaces', ['5.3 400']],
  [both('exchange'), 'answers each event by its id', of('6.2', 'profile_update', 'friend_request_create', 'create')],
  [both('exchange'), 'answers each event by its id', ['6.2 dm_call_start', '6.2 unknown types', '6.1 relay']],
]

const ours: readonly Evidence[] = [
  [fanout('signed-requests'), 'count once, whichever replica gets them', ['7.1 nonce']],
  [fanout('signed-requests'), 'are remembered for as long as they could be accepted again', ['7.1 nonce']],
  [fanout('signed-requests'), 'read the same from a stranger', ['7.1 order of checks']],
  [fanout('signed-requests'), 'may use a nonce that another peer has used', ['7.1 order of checks']],
  [fanout('vectors'), 'answers ${expected} to', of('7.1', 'signed bytes', 'spelling of an origin')],
  [fanout('relay-admission'), 'are one for each peer and eight in all', ['7.1 large relay bodies']],
  [fanout('relay-admission'), 'from networks that proved nothing', ['7.1 large relay bodies']],
  [fanout('slow-bodies'), 'is ended with 408', ['7.1 large relay bodies']],
  [fanout('signed-requests'), 'are 503 while identity cannot be asked', ['7.1 503 because a dependency']],
  [fanout('peer-states'), 'pending: a signed request with the offered secret proves it', ['7.1 a request signed']],
  [fanout('signed-requests'), 'may speak for users of their own host only', ['7.1 whom a signer']],
  [fanout('signed-requests'), 'are answered with a receipt', ['7.1 identity deletion']],
  [fanout('profiles'), 'go to the peers that the list of instances', ['7.1 relay to peers']],
  [fanout('account-states'), 'is one event beside the profile', ['7.1 suspensions']],
  [
    identity('register-federated'),
    'an account with a real password is 409',
    ['7.1 registration of an existing account'],
  ],
  [fanout('approval'), 'goes on with an approval whose offer did not arrive', ['7.2 pending']],
  [fanout('handshake'), 'is repeated at a quiet pace', ['7.2 pending']],
  [fanout('handshake'), 'waits when an admin there has to decide', ['7.2 awaiting_approval']],
  [fanout('sync-peer'), 'at 403 to take our offer again', ['7.2 active']],
  [both('exchange'), 'becomes unreachable after ten failures', ['7.2 unreachable']],
  [fanout('peer-states'), 'needs_attention: reset forgets it', ['7.2 needs_attention, revoked']],
  [fanout('approval'), 'tells the other side of a denial until it has heard', ['7.2 rejected']],
  [fanout('peer-states'), 'revoked: it is forgotten for good by an admin only', ['7.2 needs_attention, revoked']],
]

const importer = 'deploy/test/import.test.ts'
const migrations: readonly Evidence[] = [
  [importer, 'carries over what the second generation has', of('import', '11', '12', '13, 14', '19, 20', '23', '25')],
  [importer, 'names what has no place here', of('import', '15–17', '18', '21, 22', '24', '26')],
]

export const evidence = [generations, conventions, peering, exchange, accounts, ours, migrations].flat()
