import { createBrowserClient } from '@gatehouse/client'

/** The one client of this page: session, connections, live connection, API. */
export const client = createBrowserClient()
