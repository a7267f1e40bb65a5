"""Training rounds as somebody else might write them, right and wrong, on lists of numbers."""
import random


def local(client, x, lr, steps, decay=1.0, clip=None):
    y = list(x)
    for k in range(steps):
        g = client.grad(y)
        if clip is not None:
            size = sum(v * v for v in g) ** 0.5
            g = [v * min(1.0, clip / size) if size else v for v in g]
        y = [a - lr * decay ** k * b for a, b in zip(y, g, strict=True)]
    return y


def averaged(models, weights):
    total = sum(weights)
    return [sum(w * m[k] for w, m in zip(weights, models, strict=True)) / total for k in range(len(models[0]))]


def fedavg(lr, steps, weighted=True, clip=None):
    def my_round(x, clients):
        models = [local(c, x, lr, steps, clip=clip) for c in clients]
        return averaged(models, [c.weight if weighted else 1 for c in clients])
    return my_round


def turned(lr, steps, cosine, sine):
    """The change of every round is turned in the plane of the first two coordinates."""
    plain = fedavg(lr, steps)

    def my_round(x, clients):
        a, b = (new - old for new, old in zip(plain(x, clients), x, strict=True))
        return [x[0] + cosine * a - sine * b, x[1] + sine * a + cosine * b]
    return my_round


def sampled(lr, steps, favour, seed):
    """Two of three clients a round; with favour > 0 the first is put into that share of the rounds."""
    draw = random.Random(seed)

    def my_round(x, clients):
        members = draw.sample(range(len(clients)), 2)
        if draw.random() < favour and 0 not in members:
            members[draw.randrange(2)] = 0
        return averaged([local(clients[i], x, lr, steps) for i in members], [clients[i].weight for i in members])
    return my_round
