"""Methods whose server acts at arrivals, the law of those arrivals, and runs of events.

    event_clock   the law: paces, transmission times, clients that hang
    arrivals      what asynchronous methods share
    asyncfeded, fedasync   the methods: AsyncFedED; FedAsync, FedBuff, stale steps
    events        `ft.record` and `ft.replay`
    recorded      what `record` returns
"""
