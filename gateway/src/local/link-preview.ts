import { callerHeader } from '@gatehouse/auth'
import { endpoints, type EndpointReply } from '@gatehouse/contracts'
import type { Deps } from '../deps.ts'
import { policy } from '../policy.ts'

type Described = Pick<EndpointReply<'instanceInfo'>, 'name' | 'description' | 'logo'>

/**
 * Writes what the instance says of itself into pages, for the programs that preview links: they run no script. Without an
 * answer of identity the last name stands, and before the first one the page stays as it is.
 */
export function createLinkPreviews(deps: Pick<Deps, 'replicas' | 'signers' | 'clock' | 'log' | 'config'>) {
  const { clock, config } = deps
  let known: Described | null = null
  let askedAt = -Infinity
  let asking: Promise<void> | null = null

  const ask = async (): Promise<void> => {
    askedAt = clock.now()
    known = (await fetchInstance(deps)) ?? known
    asking = null
  }
  return async (page: string, path: string, isInvite: boolean): Promise<string> => {
    if (clock.now() - askedAt > policy.linkPreviewMs) asking ??= ask()
    if (!known) await asking
    const { origin } = config.publicAddress
    return known ? describePage(page, known, { origin, path, isInvite }) : page
  }
}

async function fetchInstance({ replicas, signers, log }: Pick<Deps, 'replicas' | 'signers' | 'log'>) {
  const [replica] = replicas.identity.candidates()
  if (!replica) return null
  try {
    const { statusCode, body } = await replica.pools.json.request({
      path: endpoints.instanceInfo.path,
      method: 'GET',
      headers: { [callerHeader]: signers.identity.sign({ address: 'gateway', account: null }) },
      signal: AbortSignal.timeout(policy.accountStatesQueryMs),
    })
    const reply: unknown = await body.json()
    if (statusCode !== 200) throw new Error(`identity answered ${statusCode}`)
    return endpoints.instanceInfo.replies[200].parse(reply)
  } catch (error) {
    log.warn({ err: error, replica: replica.origin }, 'the name of the instance could not be read')
    return null
  }
}

const escape = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')

type Address = { origin: string; path: string; isInvite: boolean }

function describePage(
  page: string,
  { name, description, logo }: Described,
  { origin, path, isInvite }: Address,
): string {
  const shown = {
    title: name,
    description: isInvite ? `You are invited to ${name}.` : (description ?? `Log in to ${name}, or create an account.`),
    image: origin + (logo ? `/api/uploads/${logo}` : '/preview.png'),
    url: origin + path,
    type: 'website',
  }
  const tags = Object.entries(shown).map(([key, text]) => `<meta property="og:${key}" content="${escape(text)}">`)
  const title = `<title>${escape(name)}</title>${tags.join('')}`
  return page.replace(/<title>[^<]*<\/title>/, () => title)
}
